# SPDX-License-Identifier: BSD-3-Clause
"""The recipe for Spack 1.0 and later. In a checkout:

    spack repo add packaging/spack/spack_repo/beowire
    spack dev-build beowire@main

Tried on 26 November 2026 in a development version of Spack 0.23 (of October 2024), with Debian's
libraries and pip's modules as externals, and its own MesonPackage under the name that 1.0 has: it
was built and installed, and `beowire compare` measured. That Spack's packages of July 2026 have the
versions that are asked for was read, not tried; nor was any Spack 1.0.
"""

import glob

from spack.package import *
from spack_repo.builtin.build_systems.meson import MesonPackage


class Beowire(MesonPackage):
    """Message passing for Ethernet clusters, and a tool that measures it."""

    homepage = "https://localhost.localdomain/beowire"
    git = "https://localhost.localdomain/beowire.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("command", default=True, description="The command beowire, in Python")
    variant("provider", default=True, description="The provider for libfabric, which MPI uses")
    variant("ucx", default=False, description="Drivers that measure UCX")
    variant("verbs", default=False, description="Drivers that measure RDMA")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libsodium@1.0.12:")
    depends_on("libfabric@1.17:", when="+provider")
    depends_on("ucx@1.12:", when="+ucx")
    depends_on("rdma-core", when="+verbs")

    depends_on("python@3.11:", type=("build", "run"))
    with when("+command"):
        # Without plotext 6, which Spack does not have, the terminal has no plots.
        depends_on("py-numpy@1.24:", type="run")
        depends_on("py-scipy@1.10:", type="run")
        depends_on("py-rich@13:", type="run")
        depends_on("py-typer@0.12:", type="run")
        depends_on("py-pydantic@2.5:", type="run")
        depends_on("py-psutil@5.9:", type="run")
        depends_on("iproute2", type="run")

    def meson_args(self):
        command = str(self.spec.satisfies("+command")).lower()
        return ["-Dtests=disabled", f"-Dcommand={command}"]

    @run_after("install", when="+command")
    def install_environment(self):
        """The command looks at no PYTHONPATH: its own environment says where its modules are."""
        environment = join_path(self.prefix.libexec, "beowire", "venv")
        self.spec["python"].command("-m", "venv", "--without-pip", environment)
        below = join_path("lib*", "python3*", "site-packages")
        places = [
            place
            for dependency in self.spec.traverse(root=False, deptype="run")
            for place in glob.glob(join_path(dependency.prefix, below))
        ]
        own = glob.glob(join_path(environment, below))[0]
        with open(join_path(own, "dependencies.pth"), "w") as listing:
            listing.write("".join(f"{place}\n" for place in dict.fromkeys(places)))

    def setup_run_environment(self, env):
        if self.spec.satisfies("+provider"):
            env.prepend_path("FI_PROVIDER_PATH", self.prefix.lib.libfabric)
