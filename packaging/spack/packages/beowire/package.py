# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe: `spack repo add packaging/spack`, then `spack dev-build beowire@main`.

Nobody has tried it yet.
"""

from spack.package import *


class Beowire(MesonPackage):
    """Message passing for clusters of commodity Ethernet, and the instrument that measures it."""

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
        depends_on("py-numpy@1.24:", type="run")
        depends_on("py-scipy@1.10:", type="run")
        depends_on("py-rich@13:", type="run")
        depends_on("py-typer@0.12:", type="run")
        depends_on("py-plotly@5.18:", type="run")
        depends_on("py-plotext@6:", type="run")
        depends_on("py-pydantic@2.5:", type="run")
        depends_on("py-psutil@5.9:", type="run")
        depends_on("iproute2", type="run")

    def meson_args(self):
        command = str(self.spec.satisfies("+command")).lower()
        return ["-Dtests=disabled", f"-Dcommand={command}"]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+provider"):
            env.prepend_path("FI_PROVIDER_PATH", self.prefix.lib.libfabric)
