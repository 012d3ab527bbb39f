/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tuning.h - every constant of the transport that is a choice and not a fact, with its reason.
 */
#ifndef BEOWIRE_TUNING_H
#define BEOWIRE_TUNING_H

/** Largest number of frames in flight to one peer; a power of two. 256 full frames of 1500 bytes
 *  cover 10 Gbit/s over a round trip of 300 us. */
#define FLOW_WINDOW_FRAMES 256

/** Credit of a new peer, in frames. */
#define FLOW_INITIAL_CREDIT_FRAMES 32

/** An acknowledgement is sent on its own after this number of frames, ... */
#define FLOW_ACK_EVERY_FRAMES 16

/** ... or when a frame has waited this long for another frame to carry its acknowledgement. */
#define FLOW_ACK_DELAY_NS 50000u

/** A tail-loss probe is sent when nothing was acknowledged for two round trips, but not earlier
 *  than this: a receiver may be between two polls. */
#define FLOW_PROBE_MIN_NS 200000u

/** Bounds of the retransmission timeout before back-off; further probes follow at this interval.
 *  The lower bound is above the time for which a scheduler may preempt a peer that is otherwise
 *  prompt. */
#define FLOW_RTO_MIN_NS 1000000u
#define FLOW_RTO_MAX_NS 200000000u

/** Upper bound of the retransmission timeout after back-off. */
#define FLOW_BACKOFF_MAX_NS 1000000000u

/** Interval at which a peer that owes nothing, but on which an operation depends, is probed. If its
 *  process has ended, its kernel refuses the probe. */
#define FLOW_WATCH_NS 5000000u

/** Interval at which a peer that the network has reported as ended is probed, over all lanes. */
#define SUSPICION_QUESTION_NS 20000000u

/** A suspected peer has ended if nothing is heard from it for this long. While an application
 *  computes, its keeper answers, every 100 ms: three intervals, and time for the third on a busy
 *  host. */
#define SUSPICION_NS 350000000u

/** Longest interval, in ns, at which the host of a silent process is asked again whether it is
 *  there; the interval is a quarter of the peer timeout if that is less. */
#define STILL_RETRY_NS UINT64_C(1000000000)

/** A peer that has never answered is waited for this many timeouts at most, whatever its host
 *  answers: its address may belong to another process now, or its CONNECT may be too long for the
 *  path. */
#define STILL_ASKING_TIMEOUTS 4

/** Timeouts for which a peer that has asked and was answered is waited for: it may be standing
 *  still. Such a peer takes little memory. */
#define HALF_OPEN_TIMEOUTS 8

/** Time after a probe in which a refusal is taken as its answer. */
#define PROBE_REFUSAL_NS 20000000u

/** Go-back-N: the same gap is reported, or answered by going back, again only after this or the
 *  round trip. So one loss does not cause a storm. */
#define FLOW_GAP_REPEAT_NS 200000u

/** Queueing delay below which no congestion window is applied. */
#define FLOW_QUEUE_SLACK_NS 50000u

/** Smallest congestion window: two bursts, each acknowledged without delay. */
#define FLOW_WINDOW_FLOOR_FRAMES (2u * FLOW_ACK_EVERY_FRAMES)

/** Frames passed to a lane in one call. At least as many as fit into one train, or one call of a
 *  lane that cuts. */
#define FLOW_BATCH_FRAMES 64

/** Longest message that is sent without asking, in bytes. For longer ones, waiting for the
 *  receiver's consent costs less than a second copy. */
#define MESSAGE_EAGER_BYTES_MAX 131072

/** The same while at least this number of frames to the peer, or any announced message, is on its
 *  way: the wait is then hidden, and the copies would cost throughput. The number of frames is what
 *  the two previous messages have at most, and one message whose acknowledgement is still due. */
#define MESSAGE_EAGER_BUSY_BYTES_MAX 32768
#define MESSAGE_EAGER_BUSY_FRAMES 144

/** Longest message or put that beowire_inject() accepts, unless one frame holds more. */
#define MESSAGE_INJECT_BYTES_MAX MESSAGE_EAGER_BUSY_BYTES_MAX

/** Most frames of an unannounced message where the card cuts long messages without headers of
 *  BeoWire's (tso.h): about what one call sends, 60 KiB in frames of 1,500 bytes. Announcing costs
 *  less for longer ones. */
#define MESSAGE_EAGER_CUT_FRAMES 44

/** MESSAGE_EAGER_BUSY_BYTES_MAX where the receiver can read the sender's memory: no wait for
 *  consent, and one copy in all. */
#define MESSAGE_EAGER_SHARED_BYTES_MAX 16384

/** Full frames that a lane's receive ring holds. Sending peers share about this much credit, so few
 *  frames are lost while the process computes; idle peers may hold more credit, and a frame lost
 *  for that is sent again. All slots are used in turn, so a longer ring misses the cache more: 512
 *  slots in place of 1,024 took 0.1 us off the half round trip of a short message. */
#define LANE_RING_FRAMES 512

/** Packets for which the ring of the lane `tso` has room, of one frame or of many. With an MTU of
 *  1500 each has a slot of 1.7 KB. */
#define LANE_TSO_RING_PACKETS 1024

/** Most frames that the kernel takes from a network card's queue at one poll of ours: as many as
 *  after an interrupt (NAPI's weight), the limit without CAP_NET_ADMIN. */
#define LANE_POLL_FRAMES 64

/** A card's queue is polled, which is a system call, once in this many polls of a lane's ring that
 *  find it empty. Some drivers (virtio_net) enable the card's interrupt briefly at the end of each
 *  poll: polled every time, the card interrupted for one message in eight (docs/PERFORMANCE.md). */
#define LANE_POLL_LOOKS 16

/** Time for which the kernel may poll the queue for the lane xdp while it sleeps, in us. Each poll
 *  of ours is one poll by the kernel, whatever this is; 0 would disable it. */
#define LANE_XDP_BUSY_POLL_US 20

/** Kernel memory for each direction of a bulk lane over a socket (udp, tso): a few blocks each
 *  of some peers. The kernel counts it double, and net.core.rmem_max limits it without
 *  CAP_NET_ADMIN. */
#define LANE_BULK_BUFFER_BYTES (4 << 20)

/** Payload can rely on one part in this many of it. The kernel counts memory, not bytes: up to
 *  4,096 for a frame of 1,472, if the driver gives each a page. A quarter may still be counted for
 *  frames already taken. Trains need a third of that, and much shorter frames more. */
#define LANE_BULK_BUFFER_SHARE 4

/** Most endpoints of an interface that have the lane tso: for each of them, the kernel runs a
 *  filter on each IPv4 frame that arrives, 0.1 us (docs/PERFORMANCE.md). */
#define TSO_ENDPOINTS_MAX 8

/** Longest message that is bundled with others into one frame ... */
#define BUNDLE_BYTES_MAX 256

/** ... and most messages in such a frame. */
#define BUNDLE_MESSAGES_MAX 16

/** From this number of frames of equal length on, a lane with segmentation offload is cheaper than
 *  the fast lane. */
#define CONVOY_FRAMES_MIN 3

/** After this many frames in a row that went by convoy and had to be sent again, bursts take
 *  another lane, and one in 256 tries the convoy again. */
#define CONVOY_LOST_MAX 32

/** A burst of at least this many frames goes by a lane that cuts, whatever else is in flight: one
 *  call then carries a message for about half the cost of a UDP train (docs/PERFORMANCE.md). */
#define CONVOY_CUT_LONG_FRAMES 6

/** A shorter burst goes by it only while at most this many frames are in flight: a train can carry
 *  several short messages. */
#define CONVOY_CUT_FRAMES_MAX 3

/** Posts are a run (hold.h) if the application spends at most HOLD_GAP_NS between two calls, about
 *  what a call of the lane costs, and each begins within HOLD_NEAR_NS of the one before. */
#define HOLD_GAP_NS 1000u
#define HOLD_NEAR_NS 10000u

/** Posts of a run that are sent at once: at first, and at most, if the ends of runs are noticed
 *  late: */
#define HOLD_RUN_MIN 8u
#define HOLD_RUN_MAX 64u

/** later than this after the last post. */
#define HOLD_LATE_NS 20000u

/** After this many ends in a row that were noticed in time, the number of posts sent at once is
 *  halved. */
#define HOLD_TRUST_RUNS 16u

/** Shortest interval at which a post that has no credit polls for frames: taking frames one by one
 *  is expensive. */
#define POST_LOOK_NS 10000u

/** A sender polls after this many bytes, and not more often than this, even if it has credit:
 *  sending them may take as long as they take on the wire, while peers wait for acknowledgements
 *  and data. */
#define POST_LOOK_BYTES 65536u
#define POST_LOOK_MUCH_NS 50000u

/** Longest time for which a post is held: a few calls of a lane with a whole train. */
#define HOLD_NS 16000u

/** Held posts are also sent after more than this many polls for completions in vain since the last
 *  post: the run has ended. An application that polls once after each message stays below. */
#define HOLD_POLLS 3

/** Long messages that are pulled at the same time, in all and from one peer; others wait. So a peer
 *  that has died cannot block all of them until that is noticed. */
#define PULLS_MAX 64
#define PULLS_PER_PEER 16

/** So many more are pulled if their data comes unasked, as from the first peers, which got credit
 *  for it: otherwise it would be sent twice. */
#define PULLS_SPARE (PULL_FREE_PEERS + 1)

/** Blocks of one message that are requested at the same time; about a megabyte. */
#define PULL_BLOCKS 16

/** Most blocks requested in one PULL: sending a PULL takes as long as receiving a third of a
 *  block. */
#define PULL_BLOCKS_TOGETHER 4

/** Largest block, in bytes: what one call sends by the lane `tso` (TSO_SENT_BYTES_MAX). */
#define PULL_BLOCK_BYTES 65481

/** And with headers what one call sends by UDP. */
#define PULL_TRAIN_BYTES 65507

/** Blocks of a long message that are sent unasked with its announcement. */
#define PULL_UNASKED_BLOCKS 2

/** Up to this number of peers on other hosts, an endpoint may be sent blocks unasked, and requests
 * whole blocks of all unless some are lost: a port of a common switch, with 1.5 MB for all ports,
 * has room for a block of each. */
#define PULL_FREE_PEERS 7

/** Nothing is sent unasked to a peer that gives credit for fewer frames than this, as all do that
 *  have more peers. */
#define PULL_UNASKED_FRAMES_MIN 24

/** With more peers, this much is requested of one before anything has come, ... */
#define PULL_BEGIN_BYTES 10000

/** ... and while more than this number of peers send, */
#define PULL_CROWD_PEERS 1

/** no more at the same time than fits into the switch, if all its ports are so busy: a part of the
 *  shared buffer, and room for the way of a request and its answer. This is doubled as long as what
 *  comes in the shortest round trip is more than this part of both: then the switch stores
 *  nothing, and the window is what limits. But at most so often: round trips may be long for
 *  other reasons. */
#define PULL_CROWD_BYTES 31000u
#define PULL_CROWD_SHARED_BYTES 1500000u
#define PULL_CROWD_FULL_PERCENT 70
#define PULL_CROWD_BYTES_MAX (8 * PULL_CROWD_BYTES)

/** If less than this part of the highest rate comes, requests wait at senders that are busy, which
 *  fills no switch: then it is the mean round trip that counts. */
#define PULL_CROWD_LATE_PERCENT 60u

/** That is of so many pieces, so that several senders have something to send, but not of less than
 *  two segments of usual frames: each piece costs a PULL. */
#define PULL_CROWD_PIECES 20
#define PULL_CROWD_PIECE_BYTES 3000u

/** After a loss, the most that is requested at once of a peer becomes this part of what it was, at
 *  least so many bytes or two segments, and grows by this part of a segment while as much comes: as
 *  TCP has it with CUBIC where it is friendly to Reno (RFC 9438, section 4.3). */
#define PULL_YIELD_PERCENT 70u
#define PULL_YIELD_BYTES_MIN 16000u
#define PULL_RECOVER_PERCENT 53u

/** In a crowd, requests count as lost after the mean time, and this many times the mean deviation
 *  from it: with 4, as TCP has it, all-to-all at 1 Gbit/s sent one frame in 100 again although none
 *  was lost, and took a fifth longer. */
#define PULL_CROWD_DEVIATIONS 16

/** Shortest segment that a peer may cut messages into; less would only waste processor time. */
#define PULL_SEGMENT_BYTES_MIN 64

/** A path on which nothing arrives for this long has lost what was requested: before any block has
 *  been timed, at least, and at most. */
#define PULL_TIMEOUT_FIRST_NS 5000000u
#define PULL_TIMEOUT_MIN_NS 300000u
#define PULL_TIMEOUT_MAX_NS 500000000u

/** After this many silences in a row, nothing is assumed to be in flight on a path: one block at a
 *  time is requested, and no room is kept for it. */
#define PULL_PATIENCE_SILENCES 2

/** If there is another path, such a one is tried again after this many of its timeouts: what is
 *  requested over it then may be late by a timeout. */
#define PULL_AVOID_TIMEOUTS 4

/** If nothing has ever come over it, after this, doubled with each silence, this often at most. */
#define PULL_AVOID_NS 500000000u
#define PULL_AVOID_DOUBLINGS 8

/** The missing part of a block is requested again when nothing has come for the time of this many
 *  blocks, at the rate of the path. */
#define PULL_REST_BLOCKS 4

/** Shortest time over which the rate of a path is measured: one turn's frames are not a measure. */
#define PULL_RATE_NS 100000u

/** Announced messages of up to this are read from the memory of a sender on the same host in one
 *  go. For longer ones, sender and receiver both copy, which two cores do in less time at any size
 *  (docs/PERFORMANCE.md). */
#define PULL_READ_BYTES_MAX 0

/** The same while the sender has no core to do its part with; the receiver does nothing else
 *  meanwhile. */
#define PULL_READ_ABSENT_BYTES_MAX 4194304

/** Each absence in a row doubles the number of messages that are read before the sender is asked
 *  again, this often at most. */
#define PULL_READ_DOUBLINGS 6

/** A block is read from the memory of a sender on the same host that was asked and sends nothing
 *  for this long, as long as a few blocks take. The time is longer by 1 ns for
 *  PULL_READ_BYTES_PER_NS bytes that are left: reading takes that much longer than copying at both
 *  ends. */
#define PULL_READ_PATIENCE_NS 20000u
#define PULL_READ_BYTES_PER_NS 10u

/** Messages from this size on are read by their receiver, where a lane can do that. Shorter ones
 *  arrive sooner as frames than their memory is registered at both ends (docs/PERFORMANCE.md). */
#define ONE_SIDED_BYTES_MIN 65536u

/** A read is given up after this and this for each byte (10 MB/s): the network card has lost it.
 *  The card itself gives up much earlier if the other end does not answer. */
#define ONE_SIDED_PATIENCE_NS UINT64_C(3000000000)
#define ONE_SIDED_NS_PER_BYTE 100u

/** Receivers' requests that a sender stores, in all and of one peer, where it is all that an honest
 *  one has. More are dropped, and the receiver asks again. */
#define PULL_REQUESTS 1024
#define PULL_REQUESTS_PER_PEER (PULLS_PER_PEER * PULL_BLOCKS)

/** Number of times that unasked blocks may be wasted before a sender waits to be asked. */
#define PULL_UNASKED_CREDIT 4

/** recvmsg() itself places payloads of at least this many bytes. A train has so many shorter ones
 *  that their list costs more than another copy (docs/PERFORMANCE.md). */
#define LANE_UDP_PLACED_BYTES_MIN 3000

/** Longest frame over TIPC, which takes messages of up to 66,000 bytes (TIPC_MAX_USER_MSG_SIZE) and
 *  cuts them for its links. Three frames carry a block of a long message, with or without seals, so
 *  the receiver handles one while the next is copied. */
#define LANE_TIPC_FRAME_BYTES 21480u

/** Most frames queued for sending at an RDMA device: two windows of a peer. */
#define LANE_VERBS_SEND_FRAMES 256u

/** Hosts whose RDMA addresses are stored; a power of two. A handle takes some 200 bytes here and in
 *  the kernel. */
#define LANE_VERBS_HOSTS 1024u

/** Time before a host whose address was not found is asked again: about as long as asking takes.
 *  Nobody waits for it. */
#define LANE_VERBS_SILENT_NS UINT64_C(1000000000)

/** Most peers with which an endpoint has a reliable connection of an RDMA device (RC), for reading
 *  long messages; others' messages come as frames. A queue pair takes some 20 KB of memory here and
 *  in the card, and one to four system calls to make. */
#define LANE_VERBS_LINKS 64u

/** Reads in progress at the same time over an RDMA device; further messages come as frames. */
#define LANE_VERBS_READS 32u

/** Bytes of one read request, and requests of one peer that are answered at the same time. Nothing
 *  else limits a sender, so this is what a small card can receive (in soft-RoCE, a MiB at once lost
 *  packets). 256 KiB are twice what 100 Gbit/s hold in 10 us. */
#define LANE_VERBS_READ_BYTES (128u << 10)
#define LANE_VERBS_READS_ANSWERED 2

/** Read requests posted at the same time, of one peer, all of which one message may need (32 MiB:
 *  longer ones go as frames), and of all peers. */
#define LANE_VERBS_READ_REQUESTS 256u
#define LANE_VERBS_READ_REQUESTS_ALL 512u

/** Most registrations of the application's memory with an RDMA device, lent or being read into, and
 *  their bytes in all. Registered memory cannot be swapped out, and other processes need theirs.
 *  Messages beyond it go as frames. */
#define LANE_VERBS_REGISTRATIONS 128u
#define LANE_VERBS_REGISTERED_BYTES (UINT64_C(256) << 20)

/** Shortest time before a broken reliable connection is set up again, so that a peer whose
 *  connection always breaks costs little. */
#define LANE_VERBS_MEND_NS UINT64_C(1000000000)

/** Interval at which an unanswered request for one is repeated, if there is a long message. */
#define LANE_VERBS_HELLO_NS UINT64_C(20000000)

/** Cells of a queue in shared memory, one per frame; a power of two. As many as a peer may have in
 *  flight; a short queue stays in the cores' own caches. */
#define SHM_CELLS 256

/** Bytes of such a queue for frames that are longer than a cell; a power of two. */
#define SHM_DATA_BYTES (1u << 20)

/** Data in the longest frame of such a queue. */
#define SHM_PAYLOAD_BYTES 16384u

/** Number of queues in shared memory that are polled however long they have been silent. A further
 *  one that stays silent for SHM_POLLS_OF_SILENCE polls has to ring a bell. */
#define SHM_POLLED_RINGS 8
#define SHM_POLLS_OF_SILENCE 65536u

/** Interval at which the sockets for shared memory (new peers, ended ones) are polled: a system
 *  call of half a microsecond, so a fifth of a percent of the time. */
#define SHM_HOUSEKEEPING_NS 250000u

/** Gets of peers that they may pull at the same time, in all and of one peer; others wait. */
#define REMOTE_SERVED 1024
#define REMOTE_SERVED_PER_PEER 64

/** Requests with keys of no memory, present or recent, after which a peer's connection ends. A peer
 *  that was given its keys sends none of these, and 64 guesses among 2^64 are no chance. */
#define REMOTE_GUESSES_MAX 64

/** Sends, and receives, of an endpoint that are used in turn, so that an identifier in a late frame
 *  is not soon reused. More, up to the number in the options, are used when all of these are
 *  outstanding, and their memory is not touched before. */
#define MESSAGE_OPERATIONS_LISTED 4096

/** Frames of unexpected messages that an endpoint can hold, shared by all peers. */
#define MESSAGE_CHUNKS 4096

/** Memory for them is reserved in steps of this, and for those of peers (below) in steps of this
 *  many peers, because a process may be allowed little (RLIMIT_AS). The first step is more than the
 *  windows of all peers have together (LANE_RING_FRAMES). */
#define MESSAGE_CHUNKS_STEP 1024
#define MESSAGE_PEERS_STEP 64

/** Most frames of one peer that are held, including its credit, while the application takes its
 *  messages: more do not fit a cache, and each then costs twice as much. If the application takes
 *  none and the peer has no credit left, the limit is multiplied by four, each time and for as long
 *  as the peer is there. Unanswered requests and notices not taken count, too. */
#define MESSAGE_PILE_FRAMES 256

/** Step in which this room is granted: granting each frame alone would cost more than it saves. */
#define MESSAGE_PILE_STEP_FRAMES 32

/** Frames reserved for each peer alone. Without them, a peer that comes late could wait for credit
 *  for ever. */
#define MESSAGE_PEER_CHUNKS 4

/** Buffers for frames that are copied on sending, beyond those with room for a header only. */
#define ENDPOINT_COPY_FRAMES 512

/** Quiet lanes are polled after this many frames have come over others, but not more often than
 *  QUIET_LANE_NS and not more rarely than QUIET_LANE_LONGEST_NS. A ping-pong then makes 0.03 such
 *  calls per message and lane, however long a round trip takes. */
#define QUIET_LANE_FRAMES 32
#define QUIET_LANE_NS 50000u
#define QUIET_LANE_LONGEST_NS 500000u

/** They are also polled when no frame has come for this long: the next one may come over any lane,
 *  such as the first longer message after shorter ones (a V-cycle of NAS's MG). If the next frame
 *  soon comes over another lane after such a poll, the time is set to 1.5 times the interval
 *  between frames, up to QUIET_LANE_VAIN_MAX_NS. */
#define QUIET_LANE_VAIN_NS 4000u
#define QUIET_LANE_VAIN_MAX_NS 16000u

/** Each poll that finds frames shortens that time by one part in this many, so that it adapts to
 *  faster traffic; in about 100 messages of a ping-pong it is too short once. */
#define QUIET_LANE_VAIN_SHARE 128

/** A lane of this kind on which frames came is always polled until this many have come over others:
 *  waiting alone does not tell where the next comes. */
#define LANE_WARMTH_FRAMES 16

/** Frames taken from a lane in one call. */
#define ENDPOINT_RECEIVE_FRAMES 64

/** Most data taken between two turns of sending: twice what one turn sends, so that a backlog gets
 *  smaller. And only while fewer frames than this are joined on average. */
#define BULK_TAKEN_BYTES (4 * PULL_BLOCK_BYTES)
#define BULK_JOINED_FRAMES 8

/** Most frames taken before a PROBE is answered: some windows of peers, and requested data. */
#define PROBED_FRAMES_MAX 4096

/** A CONNECT is repeated after this, doubling up to FLOW_BACKOFF_MAX_NS. */
#define CONNECTION_RETRY_NS 2000000u

/** After this many unanswered CONNECTs, shorter ones follow each, ... */
#define CONNECTION_LONG_ATTEMPTS 4

/** ... for paths of these MTUs: Ethernet, tunnels over it, and the smallest of all (RFC 9000,
 *  section 14: 1,200 bytes in UDP). */
#define CONNECTION_SHORTEST_MTU 1228
#define CONNECTION_SHORTER_MTUS                                                                    \
    {                                                                                              \
        1500, 1420, CONNECTION_SHORTEST_MTU                                                        \
    }

/** Time for which an ended peer that the application has not named is remembered: its last frames
 *  may still come, and are answered. */
#define PEER_FORGET_NS UINT64_C(1000000000)

/** Silence after which such a peer is probed, if it has not ended. */
#define PEER_QUIET_NS UINT64_C(30000000000)

/** A path is tried until it is proven: after CONNECTION_RETRY_NS, then after twice that, and so on
 *  up to this. Most paths that are not proven at once never will be (an address that two hosts
 *  have, a firewall). */
#define PATH_CHALLENGE_MAX_NS UINT64_C(120000000000)

/** ACCEPTs that may be lost before a shorter CONNECT is taken as a sign that they are too long. */
#define CONNECTION_LONG_ACCEPTS 3

/** A frame that was sent this often, and did not arrive within the peer timeout although the peer
 *  answers, will not arrive: a device on the path drops frames of its length. */
#define FLOW_STUCK_TRANSMISSIONS 10

/** The same for requested data of which nothing came, over any lane, for this many peer timeouts:
 *  longer, because it may be queued behind that of others. */
#define PULL_STUCK_TIMEOUTS 4

/** Probes, and CONNECTs, that may stay unanswered before the peer is asked over other paths. */
#define PATH_PATIENCE_PROBES 3
#define PATH_PATIENCE_CONNECTS 2

/** An endpoint that checks its timers later than due by this, or by an eighth of the peer timeout
 *  if that is longer, was not running (stopped, or its clock has jumped): peers are not charged
 *  with more of that time than this. Twice the keeper's interval. */
#define ABSENCE_COUNTED_NS 200000000u

/** A lane that did not answer is used again after this, if the peer is heard. The time doubles, up
 *  to a bound, if the lane fails within PATH_PROVEN_NS: trying it stalls traffic for some
 *  milliseconds. */
#define PATH_RETURN_NS 20000000u
#define PATH_RETURN_MAX_NS UINT64_C(10000000000)
#define PATH_PROVEN_NS UINT64_C(1000000000)

/** Longest time to spin for a frame: about the cost of a wake-up. */
#define PATIENCE_SPIN_MAX_NS 50000u

/** Shortest time to spin where others want the core: for a frame that is just arriving. */
#define PATIENCE_SPIN_MIN_NS 1000u

/** The time to spin grows by this with each wait that was not disturbed. */
#define PATIENCE_GROWTH_NS 50u

/** A longer time between two polls that find no frame means that the core was taken away. */
#define PATIENCE_GAP_NS 100000u

/** After this many polls in a row that find nothing, beowire_poll() checks whether others want the
 *  core. If they do, it sleeps for this long, or until a frame comes. */
#define POLLS_PER_BREAK 512
#define POLL_BREAK_NS 200000u

/** Others want the core if they used more than one part in this many of it in the last one or two
 *  windows. Less is a daemon's, or a job's of the lowest priority (contention.h). */
#define CONTENTION_PARTS 16
#define CONTENTION_WINDOW_NS 20000000u

/** If others wanted the core within this time, polls that have found nothing for
 *  POLL_YIELD_AFTER_NS yield it (crowd.h). */
#define POLL_CROWDED_NS 50000000u
#define POLL_YIELD_AFTER_NS 4000u

/** Polls that are checked together there. */
#define POLLS_PER_CROWDED_LOOK 4

/** A yield that takes this long has let others run, or an interrupt came. */
#define YIELD_TAKEN_NS 2000u

/** If it takes YIELD_LONG_NS, the others compute: then nobody yields for a pause between these
 *  bounds. The pause doubles each time, until this many yields in a row were shorter. A time slice
 *  of some milliseconds in a second costs little. */
#define YIELD_SHORT_MIN 16
#define YIELD_LONG_NS 1000000u
#define YIELD_PAUSE_MIN_NS 10000000u
#define YIELD_PAUSE_MAX_NS 1000000000u

/** If polls are this far apart, because the program polls others, too (Intel MPI: 4.5 us), they
 *  sleep when nothing has been found for this long: POLLS_PER_BREAK would take milliseconds. If
 * they are POLL_WORK_APART_NS apart, the program computes between them, and does not sleep. */
#define POLL_FAR_APART_NS 2500u
#define POLL_FAR_SLEEP_AFTER_NS 20000u
#define POLL_WORK_APART_NS 20000u

/** Longest sleep while there is data to send that no lane has room for, because nothing wakes the
 *  sleeper: half the time that the smallest socket buffer (400 KB) takes at 25 Gbit/s. */
#define POLL_STUCK_NS 50000u

/** Interval at which the keeper checks whether the application has called, to prove that the
 *  process lives, and interval at which it moves data while the application computes. */
#define KEEPER_INTERVAL_NS 100000000u
#define KEEPER_THREAD_INTERVAL_NS 1000000u

/** The keeper's next interval if this many bytes have moved in one, over all lanes. A window of a
 *  long message takes about a millisecond, and its sender should not wait 100 ms for the next; the
 *  first may be as short as PULL_BEGIN_BYTES. */
#define KEEPER_MOVING_INTERVAL_NS 1000000u
#define KEEPER_MOVING_BYTES 4096u

/** Time after which the keeper sends messages that the application left held: at first, and at
 *  most. It doubles each time that the application has come back, because a long run of posts may
 *  end later, too. */
#define KEEPER_HURRY_NS 20000u
#define KEEPER_HURRY_MAX_NS 500000u

/** If the keeper was not hurried for this long, the time is as at first. */
#define KEEPER_CALM_NS 10000000u

/** Time by which the keeper may oversleep. */
#define KEEPER_SLACK_NS 1000u

/** Time for which a closing endpoint repeats its CLOSE, unless its peers answer: about five times
 *  in growing intervals, the first a sixteenth. */
#define ENDPOINT_GOODBYE_NS 8000000u

/** Shortest interval at which counters are published for other processes, ... */
#define STATS_INTERVAL_NS 100000000u

/** ... with the state of this many peers each time, and of this many in all. */
#define STATS_PEERS_AT_ONCE 32u
#define STATS_PEERS 256u

/** Most RESET frames that an endpoint sends in a second: it answers strangers, and must not be
 *  usable to flood anyone. */
#define ENDPOINT_RESETS_PER_SECOND 1000

/** Most kernels of silent peers that are asked for proof at the same time: each takes one or two
 *  descriptors of the process. For other peers it is not known whether they live. */
#define WITNESSES_MAX 64

/** Peers' requests to our kernel are cleared once in this many checks of the lane's status:
 *  clearing costs a system call, and each sleep is preceded by a check. */
#define STATUS_CALLS_PER_CLEARING 256

#endif /* BEOWIRE_TUNING_H */
