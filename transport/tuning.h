/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tuning.h - every constant of the transport that is a choice and not a fact, with its reason.
 */
#ifndef BEOWIRE_TUNING_H
#define BEOWIRE_TUNING_H

/** Frames in flight to one peer at most; a power of two. 256 full frames of 1500 bytes cover
 *  10 Gbit/s over a round trip of 300 us. */
#define FLOW_WINDOW_FRAMES 256

/** A peer that has proved nothing yet may have so many frames in flight towards us. */
#define FLOW_INITIAL_CREDIT_FRAMES 32

/** An acknowledgement is sent on its own after so many frames, ... */
#define FLOW_ACK_EVERY_FRAMES 16

/** ... or when a frame has waited so long for something to piggy-back on. */
#define FLOW_ACK_DELAY_NS 50000u

/** A tail-loss probe leaves when nothing was acknowledged for two round trips, but not before this:
 *  a receiver may be between two polls. */
#define FLOW_PROBE_MIN_NS 200000u

/** Bounds of the retransmission timeout, after which further probes leave, before back-off. The
 *  lower one is above the time for which a scheduler may take the core from a peer that is
 *  otherwise prompt. */
#define FLOW_RTO_MIN_NS 1000000u
#define FLOW_RTO_MAX_NS 200000000u

/** Back-off doubles the timeout up to this. */
#define FLOW_BACKOFF_MAX_NS 1000000000u

/** A peer that owes nothing, but on which an operation depends, is asked this often whether it is
 *  alive: if its process has ended, its kernel refuses the question. */
#define FLOW_WATCH_NS 5000000u

/** A peer whose end the network has told us of is asked this often, over all lanes, ... */
#define SUSPICION_QUESTION_NS 20000000u

/** ... and has ended if nothing at all is heard of it for so long: an application that computes
 *  leaves the answer to its keeper, which looks every 100 ms; three looks, and what the third takes
 *  on a busy host. */
#define SUSPICION_NS 350000000u

/** A host that is asked whether it is there, because of a process that is silent, is asked again
 *  after a quarter of the peer timeout, or this if that is less, if it has not answered. */
#define STILL_RETRY_NS UINT64_C(1000000000)

/** One that has never answered may stand still, too. But whoever has ended may have left its place
 *  to another, who does not say so, and what asks for a connection may be too long for the way: so
 *  it is waited for only so many timeouts, whatever its host says. */
#define STILL_ASKING_TIMEOUTS 4

/** Who has asked, and got an answer, is waited for so many timeouts until it is heard: it may stand
 *  still just then. It takes little room. */
#define HALF_OPEN_TIMEOUTS 8

/** So long after a probe it may still be refused. */
#define PROBE_REFUSAL_NS 20000000u

/** Go-back-N: the same gap is reported, or answered by going back, again only after this or the
 *  round trip: one loss must not cause a storm. */
#define FLOW_GAP_REPEAT_NS 200000u

/** A queue of so much time does not yet call for a congestion window. */
#define FLOW_QUEUE_SLACK_NS 50000u

/** The congestion window does not get smaller: two bursts, each acknowledged without delay. */
#define FLOW_WINDOW_FLOOR_FRAMES (2u * FLOW_ACK_EVERY_FRAMES)

/** Frames that go to the lane in one call: at least as many as one train, or one call of a lane
 * that cuts, has room for. */
#define FLOW_BATCH_FRAMES 64

/** Longest message that is sent without asking, in bytes. Above it, the wait for the receiver's
 *  consent costs less than a second copy. */
#define MESSAGE_EAGER_BYTES_MAX 131072

/** The same while so many frames to the peer, or announced messages, are on their way: then nobody
 *  waits for this one alone, and the copies would cost throughput. As many as the two messages
 *  before this one have at most, and one whose acknowledgement is still to come. */
#define MESSAGE_EAGER_BUSY_BYTES_MAX 32768
#define MESSAGE_EAGER_BUSY_FRAMES 144

/** Longest message, and put, that leaves at once or not at all (beowire_inject()), unless one frame
 *  takes more. */
#define MESSAGE_INJECT_BYTES_MAX MESSAGE_EAGER_BUSY_BYTES_MAX

/** Never more than fit so many frames where long messages need no headers of ours between (tso.h):
 *  about what one call sends, with 64 KiB in frames of 1,500 bytes. Announcing pays beyond. */
#define MESSAGE_EAGER_CUT_FRAMES 48

/** MESSAGE_EAGER_BUSY_BYTES_MAX where the receiver can read the sender's memory: there is no wait
 * for consent, and one copy in all. */
#define MESSAGE_EAGER_SHARED_BYTES_MAX 16384

/** Full frames that a lane's receive ring holds. Peers that send share about so much credit, so
 * what was let in is seldom lost while the process computes; idle peers may hold more, and a frame
 * lost for that is repeated. The ring is walked round and round, so a longer one costs: 512 slots
 * of whole cache lines in place of 1,024 took 0.1 us off the half round trip of a short message. */
#define LANE_RING_FRAMES 512

/** Frames that one look of ours into a network card's queue has the kernel take at most: as many as
 *  after an interrupt (NAPI's weight), which is what may be asked for without CAP_NET_ADMIN. */
#define LANE_POLL_FRAMES 64

/** A card's queue is polled, which is a system call, at one look at a lane's ring in so many that
 *  find it empty. Some drivers (virtio_net) let the card interrupt for a moment at the end of each
 *  poll: polled at every look, it interrupted for one message in eight (docs/PERFORMANCE.md). */
#define LANE_POLL_LOOKS 16

/** Time for which the kernel may look into the queue on behalf of the lane xdp while it sleeps, in
 *  us. Each look of ours is one look of the kernel's, whatever this is; only 0 would be none. */
#define LANE_XDP_BUSY_POLL_US 20

/** Kernel memory for each direction of a lane for bulk data over a socket (udp, tso), if it is
 *  granted (net.core.rmem_max limits those who lack CAP_NET_ADMIN): a few bulk blocks of each of
 *  some peers. The kernel counts it double. */
#define LANE_BULK_BUFFER_BYTES (4 << 20)

/** This part of it is what payload can rely on: the kernel counts memory, not bytes, up to 4,096
 *  for a frame of 1,472, if the driver gives each a page; and a quarter may still be counted for
 *  frames that were taken already. Trains need a third of that, and much shorter frames more. */
#define LANE_BULK_BUFFER_SHARE 4

/** Endpoints of an interface that have the lane for what cards cut: the kernel asks each of
 *  them of each IPv4 frame that arrives, 0.1 us (docs/PERFORMANCE.md). */
#define TSO_ENDPOINTS_MAX 8

/** Messages of at most so many bytes are bundled into one frame ... */
#define BUNDLE_BYTES_MAX 256

/** ... up to so many messages. */
#define BUNDLE_MESSAGES_MAX 16

/** Frames of equal length that are cheaper sent together over a lane with segmentation offload than
 *  one by one over the fast lane. */
#define CONVOY_FRAMES_MIN 3

/** After so many frames in a row that went by convoy and had to be sent again, another lane has the
 *  bursts, and one in 256 is tried there. */
#define CONVOY_LOST_MAX 32

/** A burst of at least so many frames goes by a lane that cuts, whatever else is on its way: one
 * call then carries a message for about half of what a train of UDP costs (docs/PERFORMANCE.md). */
#define CONVOY_CUT_LONG_FRAMES 6

/** A shorter one only while no more frames than this are on their way: a train has those of several
 * short messages. */
#define CONVOY_CUT_FRAMES_MAX 3

/** Posts are a run (hold.h) if the application does nothing else for longer than this between two
 *  calls: a call costs the lane about as much, which is what holding back can save. And if each
 *  begins so soon after the one before. */
#define HOLD_GAP_NS 1000u
#define HOLD_NEAR_NS 10000u

/** So many posts of a run leave as they come, and at most so many if the run's end is seen late: */
#define HOLD_RUN_MIN 8u
#define HOLD_RUN_MAX 64u

/** later than this after its last post. */
#define HOLD_LATE_NS 20000u

/** After so many ends in a row that were seen in time, half as many leave as they come. */
#define HOLD_TRUST_RUNS 16u

/** Whoever posts a message for which there is no credit looks first whether any has come, but not
 *  more often than this: what has come is dearer to take in pieces. */
#define POST_LOOK_NS 10000u

/** And after so many bytes, and not more often than this, it is looked in any case: sending them
 * may take as long as they take on the wire, in which peers wait for acknowledgements, and for
 * data. */
#define POST_LOOK_BYTES 65536u
#define POST_LOOK_MUCH_NS 50000u

/** What is held back leaves after at most so long: a few calls of a lane with a whole train; */
#define HOLD_NS 16000u

/** and when the application has looked more often than this for completions in vain since it last
 *  posted: the run has ended. Who looks once after each message that it sends does not get there.
 */
#define HOLD_POLLS 3

/** Long messages that are pulled at once, in all and of one peer; others wait. A peer that has died
 *  does not keep all for itself until that is noticed. */
#define PULLS_MAX 64
#define PULLS_PER_PEER 16

/** Blocks of one message that are asked for at once; about a megabyte. */
#define PULL_BLOCKS 16

/** And so many of them in one PULL, if so many are there to be asked for: a PULL takes as long to
 *  send as a third of a block to receive. */
#define PULL_BLOCKS_TOGETHER 4

/** Bytes of a block, at most: with up to 64 headers of 16 bytes, what one call can send with
 * segmentation offload (65,507 bytes). */
#define PULL_BLOCK_BYTES 64400

/** Of a long message, the first so many blocks are sent with its announcement, unasked. */
#define PULL_UNASKED_BLOCKS 2

/** A peer that cuts messages into less than this wants to waste our time. */
#define PULL_SEGMENT_BYTES_MIN 64

/** A path on which nothing comes for this long has lost what was asked for: before any block has
 *  been timed, at least, and at most. */
#define PULL_TIMEOUT_FIRST_NS 5000000u
#define PULL_TIMEOUT_MIN_NS 300000u
#define PULL_TIMEOUT_MAX_NS 500000000u

/** After so many silences in a row nothing is taken to be on its way over a path any more: one
 * block at a time is asked for, and no room is kept for it. */
#define PULL_PATIENCE_SILENCES 2

/** Such a path is tried again after this, if there is another one. */
#define PULL_AVOID_NS 500000000u

/** If nothing has ever come over it, this is doubled with each silence, but so often at most. */
#define PULL_AVOID_DOUBLINGS 8

/** What is missing of a block that has begun to come is asked for again when nothing has come for
 * the time of so many blocks, at the rate of the path. */
#define PULL_REST_BLOCKS 4

/** The rate of a path is measured over at least this: what came in one turn says nothing of it. */
#define PULL_RATE_NS 100000u

/** Announced messages of up to this are read from the memory of a sender on our host in one go; of
 * longer ones sender and receiver both copy, which two cores do in less time at any size
 * (docs/PERFORMANCE.md). */
#define PULL_READ_BYTES_MAX 0

/** The same while the sender has no core to do its part with: nothing else is looked at until all
 *  has been read. */
#define PULL_READ_ABSENT_BYTES_MAX 4194304

/** After so many absences in a row, of which each doubles the number of messages that are read
 *  before the sender is asked again, it stays at that. */
#define PULL_READ_DOUBLINGS 6

/** A sender on our host that is asked and sends nothing for this long is busy elsewhere: a block is
 *  read from its memory. As long as a few blocks take that come; and longer if much is left, of
 *  which reading takes longer than copying at both ends by 1 ns for so many bytes. */
#define PULL_READ_PATIENCE_NS 20000u
#define PULL_READ_BYTES_PER_NS 10u

/** Messages from so many bytes on are read by their receiver, where a lane can do that: shorter
 * ones are here sooner as frames than their memory is registered at both ends
 * (docs/PERFORMANCE.md). */
#define ONE_SIDED_BYTES_MIN 65536u

/** A read that has not ended after so long, and so long for each byte (10 MB/s), is given up: the
 *  network card has lost it. It gives up itself long before, if the other end does not answer. */
#define ONE_SIDED_PATIENCE_NS UINT64_C(3000000000)
#define ONE_SIDED_NS_PER_BYTE 100u

/** Requests of receivers that a sender remembers, in all and of one peer, which is all that an
 * honest one has; more are dropped and asked again. */
#define PULL_REQUESTS 1024
#define PULL_REQUESTS_PER_PEER (PULLS_PER_PEER * PULL_BLOCKS)

/** How often a sender may find that unasked blocks were wasted before it waits to be asked. */
#define PULL_UNASKED_CREDIT 4

/** Payloads of at least this are put where they belong by recvmsg() itself. Of shorter ones a train
 *  has so many that their list costs more than copying them once more (docs/PERFORMANCE.md). */
#define LANE_UDP_PLACED_BYTES_MIN 3000

/** Longest frame over TIPC, which takes messages of up to 66,000 bytes (TIPC_MAX_USER_MSG_SIZE) and
 *  cuts them for its links: so long that three carry a block of a long message, with or without
 *  seals, and the receiver has one in its hands while the next is copied. */
#define LANE_TIPC_FRAME_BYTES 21480u

/** Frames that an RDMA device has to send at most: two windows of a peer. */
#define LANE_VERBS_SEND_FRAMES 256u

/** Hosts whose RDMA addresses are known at once; a power of two. A handle takes some 200 bytes here
 *  and in the kernel. */
#define LANE_VERBS_HOSTS 1024u

/** A host whose address could not be found is asked again so much later: about as long as asking
 *  takes, which nobody waits for. */
#define LANE_VERBS_SILENT_NS UINT64_C(1000000000)

/** Peers at most with which an endpoint has a reliable connection of an RDMA device (RC), for
 *  reading long messages: of others they come as frames. A queue pair takes some 20 KB of memory
 *  here and in the card, and a system call or four to make. */
#define LANE_VERBS_LINKS 64u

/** Reads that are under way at once over an RDMA device: what comes beyond that, comes as frames.
 */
#define LANE_VERBS_READS 32u

/** Requests that a message is read by have so many bytes, and of a peer two are answered at once:
 * so no more is on its way than a receiver of a small card has room for, since nothing else holds a
 *  sender back (in soft-RoCE a MiB at once lost packets, and waited for them); and 256 KiB are
 * twice what 100 Gbit/s hold in 10 us. */
#define LANE_VERBS_READ_BYTES (128u << 10)
#define LANE_VERBS_READS_ANSWERED 2

/** Of one peer as many such requests are posted at once, which a message may need all (32 MiB:
 * longer ones go as frames); and of all peers. */
#define LANE_VERBS_READ_REQUESTS 256u
#define LANE_VERBS_READ_REQUESTS_ALL 512u

/** Registrations with an RDMA device at once of memory that is the application's, lent or being
 *  read into, and bytes of it in all: that memory cannot be swapped out meanwhile, and others need
 *  theirs. More is refused, and goes as frames. */
#define LANE_VERBS_REGISTRATIONS 128u
#define LANE_VERBS_REGISTERED_BYTES (UINT64_C(256) << 20)

/** A reliable connection that broke is made anew after so long at the earliest, so that a peer by
 *  which it always breaks costs little. */
#define LANE_VERBS_MEND_NS UINT64_C(1000000000)

/** And asked for again if there was no answer for so long, and there is a long message. */
#define LANE_VERBS_HELLO_NS UINT64_C(20000000)

/** Cells of a queue in shared memory, one a frame; a power of two. As many as a peer may have in
 *  flight; a short queue stays in the cores' own caches. */
#define SHM_CELLS 256

/** Bytes of such a queue for frames that are longer than a cell; a power of two. */
#define SHM_DATA_BYTES (1u << 20)

/** Data in the longest frame of such a queue. */
#define SHM_PAYLOAD_BYTES 16384u

/** So many queues in shared memory are polled however long they have been silent; beyond, one that
 *  stays silent for so many polls has to ring a bell. */
#define SHM_POLLED_RINGS 8
#define SHM_POLLS_OF_SILENCE 65536u

/** The sockets beside shared memory (new peers, ended ones) are looked at after this: a system call
 *  of half a microsecond, so a fifth of a percent of the time. */
#define SHM_HOUSEKEEPING_NS 250000u

/** Gets of peers that they may pull at once, in all and one peer alone; others wait. */
#define REMOTE_SERVED 1024
#define REMOTE_SERVED_PER_PEER 64

/** Requests of a peer with keys that no memory has, nor had lately: with this one its connection
 *  ends. Whoever was given its keys names none of these, and 64 of 2^64 are no chance. */
#define REMOTE_GUESSES_MAX 64

/** Sends, and receives, of an endpoint that are used in turn, so that what a late frame names is
 *  not soon another one. More, up to the number in the options, come into use when all of these are
 *  outstanding, and are not touched before. */
#define MESSAGE_OPERATIONS_LISTED 4096

/** Frames of unexpected messages that an endpoint can hold for whichever peers send them. */
#define MESSAGE_CHUNKS 4096

/** Memory for them is reserved in steps of at least so many, and for those of peers (below) in
 * steps of so many peers: a process may be allowed little (RLIMIT_AS). The first step is more than
 * the windows of all peers have together (LANE_RING_FRAMES). */
#define MESSAGE_CHUNKS_STEP 1024
#define MESSAGE_PEERS_STEP 64

/** So many frames of one peer may lie there, what it has credit for included, as long as the
 *  application takes messages of it: more than this no cache holds, and each costs twice as much.
 * If it takes none of them and the peer starves, four times as many may, each time and for as long
 * as the peer is there. Requests not answered and notices not taken lie there, too. */
#define MESSAGE_PILE_FRAMES 256

/** Room in the pile is granted in steps of this: a frame for each would cost more than it brings.
 */
#define MESSAGE_PILE_STEP_FRAMES 32

/** So many more for each peer alone, which no other can use up: without them, a peer that comes
 *  late could wait for credit for ever. */
#define MESSAGE_PEER_CHUNKS 4

/** Buffers for frames that are copied on sending, beyond those with room for a header only. */
#define ENDPOINT_COPY_FRAMES 512

/** Lanes on which nothing is expected, and which cost a system call to poll, are polled after so
 * many frames have come over others, but no more often than this and no more seldom than that: a
 * ping-pong then makes 0.03 such calls a message and lane, however long a round trip takes. */
#define QUIET_LANE_FRAMES 32
#define QUIET_LANE_NS 50000u
#define QUIET_LANE_LONGEST_NS 500000u

/** And whenever no frame has come for so long: the one that is waited for may be on any lane. A
 * program whose messages become longer after shorter ones (a V-cycle of NAS's MG) would wait for
 * the first of them otherwise. Where the next frame soon comes over another lane after such a poll,
 * frames only come more slowly than that, and the time becomes half as long again as they are
 * apart, but no longer than QUIET_LANE_VAIN_MAX_NS. */
#define QUIET_LANE_VAIN_NS 4000u
#define QUIET_LANE_VAIN_MAX_NS 16000u

/** That time becomes shorter again by such a part with each look that finds frames, so that what
 * has become quicker is noticed; every 100 messages of a ping-pong or so it is too short once. */
#define QUIET_LANE_VAIN_SHARE 128

/** Such a lane on which frames came is polled always until so many have come over others: waiting
 * alone says nothing of where the next comes. */
#define LANE_WARMTH_FRAMES 16

/** Frames taken from a lane in one call. */
#define ENDPOINT_RECEIVE_FRAMES 64

/** Data taken between two turns of sending data, if it is there: twice what leaves in one, so that
 * a backlog gets smaller. And only as long as fewer frames than this are joined on average. */
#define BULK_TAKEN_BYTES (4 * PULL_BLOCK_BYTES)
#define BULK_JOINED_FRAMES 8

/** And before a PROBE is answered, at most: some windows of peers, and what they were asked for. */
#define PROBED_FRAMES_MAX 4096

/** A CONNECT is repeated after this, doubling up to FLOW_BACKOFF_MAX_NS. */
#define CONNECTION_RETRY_NS 2000000u

/** After so many CONNECTs without an answer, shorter ones follow each ... */
#define CONNECTION_LONG_ATTEMPTS 4

/** ... that arrive over ways of these MTUs: Ethernet, what tunnels leave of it, and everything
 *  (RFC 9000, section 14: 1,200 bytes in UDP). */
#define CONNECTION_SHORTEST_MTU 1228
#define CONNECTION_SHORTER_MTUS                                                                    \
    {                                                                                              \
        1500, 1420, CONNECTION_SHORTEST_MTU                                                        \
    }

/** A peer that nobody has named, and that has gone, is remembered for so long: what it said last
 * may still come, and is answered. */
#define PEER_FORGET_NS UINT64_C(1000000000)

/** And one that is there, but has said nothing for so long, is asked whether it is. */
#define PEER_QUIET_NS UINT64_C(30000000000)

/** As long as a path is not proven it is tried again: after CONNECTION_RETRY_NS, then after twice
 *  that, and so on up to this. Most of those that are not proven at once never will be (an address
 *  that two hosts have, a firewall). */
#define PATH_CHALLENGE_MAX_NS UINT64_C(120000000000)

/** So many ACCEPTs may be lost before a shorter CONNECT is taken for a sign that they are too long.
 */
#define CONNECTION_LONG_ACCEPTS 3

/** A frame that was sent so often, and did not arrive for the peer's timeout although the peer
 *  answers, will not arrive: something on the way drops frames of its length. */
#define FLOW_STUCK_TRANSMISSIONS 10

/** Nor will data, if nothing came of what was asked for, over any lane, for so many times the
 * peer's timeout: longer, for it may be waiting behind that of others. */
#define PULL_STUCK_TIMEOUTS 4

/** Probes, and CONNECTs, that may stay without an answer before the peer is asked over other paths.
 */
#define PATH_PATIENCE_PROBES 3
#define PATH_PATIENCE_CONNECTS 2

/** An endpoint that looks at its timers so much later than they were due, or an eighth of the peer
 *  timeout if that is longer, has been away (stopped, or its clock has jumped): peers are not
 *  charged with more of that time than this. Twice as long as the keeper lets pass. */
#define ABSENCE_COUNTED_NS 200000000u

/** A lane that did not answer is used again, if the peer is heard, after this; after twice that if
 * it has to be left again within PATH_PROVEN_NS, and so on up to a bound: trying it costs some
 *  milliseconds in which nothing moves. */
#define PATH_RETURN_NS 20000000u
#define PATH_RETURN_MAX_NS UINT64_C(10000000000)
#define PATH_PROVEN_NS UINT64_C(1000000000)

/** Spinning for a frame lasts at most so long: about the price of a wake-up. */
#define PATIENCE_SPIN_MAX_NS 50000u

/** Where the core is wanted by others it lasts at least so long: a frame that is just coming. */
#define PATIENCE_SPIN_MIN_NS 1000u

/** And grows by this with each wait that was not disturbed. */
#define PATIENCE_GROWTH_NS 50u

/** Nothing between two looks that find no frame takes so long, but the loss of the core. */
#define PATIENCE_GAP_NS 100000u

/** Polls in a row that find nothing, after which beowire_poll() asks whether others want the core,
 *  and, if they do, lets them have it for so long, or until a frame comes. */
#define POLLS_PER_BREAK 512
#define POLL_BREAK_NS 200000u

/** Others want the core if they have more than one part in so many of it, over the last one or two
 * of so long: less is a daemon's, or a job's of the lowest priority (contention.h). */
#define CONTENTION_PARTS 16
#define CONTENTION_WINDOW_NS 20000000u

/** If others wanted the core within so long, polls that have found nothing for so long let them
 * have it (crowd.h), ... */
#define POLL_CROWDED_NS 50000000u
#define POLL_YIELD_AFTER_NS 4000u

/** ... and so many polls are looked at together. */
#define POLLS_PER_CROWDED_LOOK 4

/** A yield that takes so long has let others run, or an interrupt came, ... */
#define YIELD_TAKEN_NS 2000u

/** ... and if it takes so long, they compute: then nobody yields for between this and that, doubled
 *  each time until so many in a row did not. A time slice of some milliseconds in a second is
 *  nothing. */
#define YIELD_SHORT_MIN 16
#define YIELD_LONG_NS 1000000u
#define YIELD_PAUSE_MIN_NS 10000000u
#define YIELD_PAUSE_MAX_NS 1000000000u

/** Until then those sleep whose polls are so far apart, because the program looks elsewhere as
 * well, when nothing has been found for so long: POLLS_PER_BREAK would take milliseconds. */
#define POLL_FAR_APART_NS 2500u
#define POLL_FAR_SLEEP_AFTER_NS 20000u

/** Whoever has data to send that no lane has room for sleeps no longer than this, for nothing wakes
 *  it: half of what the least that a socket may hold (400 KB) takes at 25 Gbit/s. */
#define POLL_STUCK_NS 50000u

/** How often the keeper looks whether the application has called: to prove that the process lives,
 *  and to move data while the application computes. */
#define KEEPER_INTERVAL_NS 100000000u
#define KEEPER_THREAD_INTERVAL_NS 1000000u

/** How soon it looks again if so much has moved at one look, over all lanes: a window of a long
 *  message takes about a millisecond, and whoever waits for the next would wait a hundred. */
#define KEEPER_MOVING_INTERVAL_NS 1000000u
#define KEEPER_MOVING_BYTES 65536u

/** So long the application has to come back for messages that it left held back: at first; and
 * twice as long each time that it has, since a long run of posts may end a little later, too. */
#define KEEPER_HURRY_NS 20000u
#define KEEPER_HURRY_MAX_NS 500000u

/** If nobody has hurried it for so long, all begins anew. */
#define KEEPER_CALM_NS 10000000u

/** By so much the keeper may sleep longer than it was to. */
#define KEEPER_SLACK_NS 1000u

/** An endpoint that closes repeats this long that it does, unless its peers answer: about five
 * times in growing pauses, the first a sixteenth. */
#define ENDPOINT_GOODBYE_NS 8000000u

/** Counters are published for other processes at most so often, ... */
#define STATS_INTERVAL_NS 100000000u

/** ... with the state of so many peers each time, of which so many can be seen at all. */
#define STATS_PEERS_AT_ONCE 32u
#define STATS_PEERS 256u

/** RESET frames an endpoint sends at most in a second: it answers strangers, and must not be
 *  made to flood anyone. */
#define ENDPOINT_RESETS_PER_SECOND 1000

/** Kernels of silent peers that are asked for proof at the same time, at most: each takes one or
 * two descriptors of the process. Of others it is not known whether they are there. */
#define WITNESSES_MAX 64

/** What peers have asked our kernel for is taken away once in so many looks at the lane's status:
 *  each costs a system call, and a look comes before each sleep. */
#define STATUS_CALLS_PER_CLEARING 256

#endif /* BEOWIRE_TUNING_H */
