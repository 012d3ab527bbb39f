# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a message's way a function of the kernel belongs to: one table, and nothing else
knows functions by name. Pure.

A sample is a stack of functions, the innermost first. It belongs to the first of them that the
table has: so what a helper costs (a lock, an allocation) counts for whoever called it.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache

#: Functions of the kernel by part, as shell patterns. The first part that has a function takes it.
FUNCTIONS: Mapping[str, Sequence[str]] = {
    "waiting": (
        *("*_safe_halt", "default_idle*", "*_idle", "intel_idle*", "mwait_idle*", "acpi_idle_*"),
        *("cpuidle_*", "do_idle", "cpu_startup_entry", "poll_idle", "cpu_idle_poll*"),
    ),
    "copy": (
        *("copy_user_*", "*rep_movs*", "_copy_to_iter", "_copy_from_iter*", "copy_page*"),
        *("*csum_and_copy*", "csum_partial*", "__memcpy", "memcpy*", "memmove*", "__memmove"),
        *("skb_copy_datagram*", "__skb_datagram_iter", "simple_copy_to_iter", "skb_copy_bits"),
        *("copyin", "copyout", "*copy_from_user*", "*copy_to_user*", "skb_splice_*"),
    ),
    "wake-up": (
        *("try_to_wake_up", "ttwu_*", "wake_up_*", "__wake_up*", "default_wake_function"),
        *("autoremove_wake_function", "woken_wake_function", "receiver_wake_function"),
        *("sock_def_readable", "sock_def_write_space", "ep_poll_callback", "ep_autoremove_wake*"),
        *(
            "schedule",
            "__schedule",
            "schedule_timeout",
            "schedule_hrtimeout*",
            "finish_task_switch",
        ),
        *("pick_next_*", "enqueue_task*", "dequeue_task*", "update_curr*", "switch_mm*"),
        *(
            "__switch_to*",
            "sched_*",
            "__sched_yield",
            "yield_task*",
            "do_sched_yield",
            "wait_woken",
        ),
        *("flush_smp_call_function*", "sk_wait_data", "prepare_to_wait*", "finish_wait"),
        *("native_smp_send_reschedule", "reschedule_*", "check_preempt_*", "wakeup_preempt*"),
    ),
    "driver": (
        *(
            "veth_*",
            "virtnet_*",
            "virtqueue_*",
            "vring_*",
            "vp_notify*",
            "e1000*",
            "igb_*",
            "igc_*",
        ),
        *("ixgbe*", "i40e_*", "ice_*", "mlx[45]*", "bnxt_*", "tg3_*", "r8169_*", "rtl8169_*"),
        *("ena_*", "vmxnet3_*", "loopback_xmit", "br_*", "tun_*", "macvlan_*", "dma_map_*"),
        *("dma_unmap_*", "ifb_*", "relay_*"),
    ),
    "protocol": (
        *("tcp_*", "__tcp_*", "udp_*", "__udp*", "udpv6_*", "udp4_*", "ip_*", "__ip_*", "ipv4_*"),
        *("ip6_*", "ipv6_*", "inet_*", "inet6_*", "__inet_*", "nf_*", "ipt_*", "iptable_*"),
        *(
            "sk_*",
            "sock_*",
            "__sock_*",
            "skb_*",
            "__skb_*",
            "__alloc_skb",
            "kfree_skb*",
            "consume_skb",
        ),
        *(
            "alloc_skb*",
            "napi_alloc_*",
            "__napi_alloc*",
            "__netdev_alloc*",
            "packet_*",
            "tpacket_*",
        ),
        *(
            "prb_*",
            "unix_*",
            "__unix_*",
            "sctp_*",
            "tipc_*",
            "mptcp_*",
            "xsk_*",
            "__xsk_*",
            "xdp_*",
        ),
        *("bpf_*", "__bpf_*", "sch_*", "qdisc_*", "__qdisc_*", "pfifo_*", "fq_*", "htb_*", "tbf_*"),
        *(
            "netem_*",
            "neigh_*",
            "arp_*",
            "dst_*",
            "rt_*",
            "fib_*",
            "raw_local_deliver",
            "lock_sock*",
        ),
        *(
            "release_sock",
            "__release_sock",
            "eth_type_trans",
            "dev_queue_xmit*",
            "__dev_queue_xmit",
        ),
        *("dev_hard_start_xmit", "sch_direct_xmit", "__dev_direct_xmit", "validate_xmit_*"),
        *(
            "__netif_receive_skb*",
            "netif_receive_skb*",
            "deliver_skb",
            "deliver_ptype*",
            "dev_gro_*",
        ),
        *("napi_gro_*", "gro_*", "netif_skb_features", "__dev_forward_skb*", "dev_forward_skb*"),
        *(
            "netif_rx*",
            "__netif_rx",
            "enqueue_to_backlog",
            "__copy_skb_header",
            "pskb_*",
            "__pskb_*",
        ),
    ),
    "softirq": (
        *("__do_softirq", "handle_softirqs", "do_softirq*", "net_rx_action", "net_tx_action"),
        *(
            "__napi_poll",
            "process_backlog",
            "napi_complete*",
            "__napi_schedule*",
            "____napi_schedule",
        ),
        *(
            "run_ksoftirqd",
            "__local_bh_enable_ip",
            "raise_softirq*",
            "__raise_softirq*",
            "net_rps_*",
        ),
        *("irq_exit*", "__irq_exit*", "smpboot_thread_fn", "trigger_rx_softirq", "rps_trigger*"),
    ),
    "interrupt": (
        *("asm_sysvec_*", "sysvec_*", "__sysvec_*", "asm_common_interrupt", "common_interrupt"),
        *(
            "handle_*irq*",
            "__handle_irq*",
            "irq_enter*",
            "__irq_enter*",
            "hrtimer_*",
            "__hrtimer_*",
        ),
        *("tick_*", "update_process_times", "scheduler_tick", "asm_exc_*", "exc_*", "asm_int*"),
        *("vp_interrupt", "vring_interrupt", "vp_vring_interrupt", "error_return", "irqentry_*"),
    ),
    "system call": (
        *("do_syscall_64", "x64_sys_call", "entry_SYSCALL_64*", "syscall_*", "__x64_sys_*"),
        *(
            "__sys_*",
            "___sys_*",
            "ksys_*",
            "vfs_read",
            "vfs_write",
            "new_sync_*",
            "fdget*",
            "__fdget*",
        ),
        *("__fget*", "fput*", "sockfd_lookup*", "import_*", "move_addr_to_*", "security_*"),
        *("apparmor_*", "exit_to_user_mode*", "entry_*", "srso_*", "__put_user_*", "__get_user_*"),
        *("do_sys_poll", "do_poll*", "do_epoll_*", "ep_*", "do_recvmmsg", "do_futex", "futex_*"),
        *("process_vm_rw*", "ret_from_fork*"),
    ),
}

#: By these a stack shows that it looks for a message: a program that spins calls them all the time.
LOOKING = (
    *(
        "__sys_recv*",
        "___sys_recv*",
        "__x64_sys_recv*",
        "do_recvmmsg",
        "__x64_sys_read*",
        "ksys_read",
    ),
    *("__x64_sys_poll", "__x64_sys_ppoll", "do_sys_poll", "do_epoll_wait", "__x64_sys_epoll_*"),
    *("__x64_sys_sched_yield", "do_sched_yield", "__x64_sys_io_uring_enter"),
)

#: And by these that it does what the network asks for, whoever was interrupted for it.
SERVING = ("__do_softirq", "handle_softirqs", "do_softirq*", "net_rx_action", "run_ksoftirqd")

#: Functions of the C library that copy.
_USER_COPY = ("__memmove_*", "__memcpy_*", "memcpy*", "memmove*")

#: What a compiler appends to the name of a part of a function.
_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|lto_priv|llvm)\b.*$")


def part_of(kernel: Sequence[str], user: Sequence[str] = ()) -> str:
    """The part of a stack: its functions in the kernel, then those in the program, each the
    innermost first."""
    for function in kernel:
        part = _part(function)
        if part is not None:
            return part
    if kernel:
        return "other kernel"
    return "copy" if user and _matches(user[0], _USER_COPY) else "own code"


def is_looking(kernel: Sequence[str]) -> bool:
    """The stack is in a call that looks for messages."""
    return any(_matches(function, LOOKING) for function in kernel)


def is_serving(kernel: Sequence[str]) -> bool:
    """The stack is in the kernel's work on what has arrived."""
    return any(_matches(function, SERVING) for function in kernel)


@lru_cache(maxsize=8192)
def _part(function: str) -> str | None:
    return next((part for part, names in FUNCTIONS.items() if _matches(function, names)), None)


@lru_cache(maxsize=32768)
def _matches(function: str, patterns: Sequence[str]) -> bool:
    return _expression(tuple(patterns)).match(_SUFFIX.sub("", function)) is not None


@lru_cache(maxsize=64)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns))
