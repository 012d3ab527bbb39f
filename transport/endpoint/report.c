/* SPDX-License-Identifier: BSD-3-Clause */
/* Information for the application: counters, events, and error texts. */
#include "core/counters.h"
#include "endpoint/endpoint.h"

#include <errno.h>
#include <string.h>

int beowire_counter(const beowire_endpoint *endpoint, unsigned index, const char **name,
                    uint64_t *value)
{
    beowire_endpoint *own = endpoint_writable(endpoint);
    int status = endpoint_check(endpoint);

    if (status == 0 && (name == NULL || value == NULL)) {
        status = -EINVAL;
    }
    if (status == 0 && index >= counters_count()) {
        status = -ENOENT;
    }
    if (status != 0) {
        return status;
    }
    *name = counters_name(index);
    turn_enter(&own->turn);
    *value = counters_read(&own->core, index);
    endpoint_leave(own);
    return 0;
}

int beowire_event(beowire_endpoint *endpoint, struct beowire_event *event)
{
    int status = event == NULL ? -EINVAL : endpoint_enter(endpoint);

    if (status != 0) {
        return status;
    }
    if (__builtin_expect(endpoint->core.events > 0, 0)) {
        status = core_take_event(&endpoint->core, event, endpoint_clock(endpoint));
    }
    endpoint_leave(endpoint);
    return status;
}

const char *beowire_error(int status)
{
    switch (status) {
    case 0:
        return "no error";
    case -EAGAIN:
        return "no room now: poll, and try again";
    case -EINVAL:
        return "an argument is missing or out of range";
    case -EBADF:
        return "the endpoint has been closed";
    case -ECHILD:
        return "a forked process cannot use its parent's endpoint: open one of its own";
    case -EMSGSIZE:
        return "the message is longer than the buffer, or than the limit";
    case -ECANCELED:
        return "the operation was cancelled";
    case -ETIMEDOUT:
        return "the peer does not answer";
    case -ECONNRESET:
        return "the peer has closed, was restarted, or does not know this connection";
    case -EKEYREJECTED:
        return "the peer belongs to another job: its job key differs";
    case -EPROTONOSUPPORT:
        return "frames must be authenticated (\"authenticate\"), but the other end's version "
               "cannot: "
               "update it, or remove the setting at both ends";
    case -EPROTO:
        return "the peer broke the protocol";
    case -EACCES:
        return "the peer has no memory with this key, does not allow this access, or the range "
               "is not inside";
    case -EOPNOTSUPP:
        return "the peer does not support this";
    case -EEXIST:
        return "that key is in use";
    case -EBADMSG:
        return "the configuration is wrong: beowire_configuration_check() says where";
    case -EPERM:
        return "raw frames need CAP_NET_RAW: run as root, or in a network namespace of your own";
    case -EADDRNOTAVAIL:
        return "the network interface has no IP address, or is of another kind";
    case -EAFNOSUPPORT:
        return "this kernel does not have it (TIPC: `modprobe tipc`)";
    case -ENONET:
        return "TIPC has no network here: `tipc bearer enable media eth device INTERFACE`";
    case -EUSERS:
        return "too many endpoints of this interface use this lane already";
    case -EHOSTUNREACH:
        return "no lane of this endpoint reaches that address";
    case -ENXIO:
        return "no usable RDMA device over Ethernet (RoCE v2) with an IPv4 address; any card can "
               "have "
               "one in software: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0";
    case -ELIBBAD:
        return "libibverbs is missing or older than 33: install libibverbs1 and "
               "ibverbs-providers";
    case -ENOPKG:
        return "built without libibverbs: install its headers (libibverbs-dev), build again";
    case -ENOBUFS:
        return "the RDMA device has no room for another endpoint, or this process may not lock "
               "4 MiB more (ulimit -l)";
    case -ENODEV:
        return "there is no such network interface";
    case -ENETDOWN:
        return "the network interface is down";
    case -EADDRINUSE:
        return "that endpoint number is taken on this host";
    case -ENOSPC:
        return "no room: as many peers as allowed are known, or the text buffer is too short";
    case -ENOENT:
        return "not found";
    case -ENOMSG:
        return "no such message has arrived";
    case -ENOMEM:
        return "out of memory";
    case -EMFILE:
        return "this process has reached its limit of open descriptors: see ulimit -n";
    case -ENFILE:
        return "this host has reached its limit of open files";
    case -EINTR:
        return "interrupted by a signal";
    case -ENOLINK:
        return "the lane that it needs is missing, too";
    case -ENOSYS:
        return "the kernel does not have it, or refuses it";
    default:
        return status < 0 ? strerror(-status) : "no known error";
    }
}
