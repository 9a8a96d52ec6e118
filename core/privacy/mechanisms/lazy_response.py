"""Randomised response evaluated slot by slot. A slot is worked out when it is requested: for cells of too
many slots.

The coin of a slot is a pseudo-random function of the slot under a secret key, so nothing is stored but the
cell's edges and the key. Both are private content.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy.accounting.events import NANO
from core.privacy.accounting.flips import Flips
from core.privacy.mechanisms import siphash
from core.privacy.queries import Shape

_NAME_BYTES = 64  # a relation's name has 63 characters at most
_BEGINNING = _NAME_BYTES + 8
_CLOSING = np.uint64((_BEGINNING + 8) % 256 << 56)  # every message has 80 bytes
_ENDS_BITS = np.uint64(32)
_TAIL = 64 * math.log(2)


@dataclass(frozen=True)
class LazyResponse:
    """Every slot's answer, not yet worked out. It is y(s) = edge(s) XOR [PRF(s) < threshold].

    ``edge``: sorted int64 keys ``source * target_count + target`` of the true edges, and behind them, up to a
    paid-for number, keys beyond the last slot, which stand for nothing: raw data, which only :func:`bits` may
    look at. How many keys there are, and so how large a table of them is and how long one takes to make,
    does not follow from how many are true. ``prf_key`` (4,) uint64: the function's state under a fresh key,
    after the cell's name. ``flips``: add and drop are one threshold.

    Sensitivity: one edge of the cell is one slot. Unit: one edge of the cell.
    Proof: replace the pseudo-random function by independent uniform words of 64 bits, one for each slot; then
    y is the law of :func:`core.privacy.mechanisms.randomised_response.flip` with p_add = p_drop = threshold /
    2^64, whose epsilon is that of the actual probabilities, and whatever is computed from some of its slots
    is post-processing of all of them. Whoever does not have the key cannot tell the two cases apart in
    feasible time, as SipHash-2-4 is held to be pseudo-random, keys are 128 fresh bits of the operating
    system for each cell and call, and no two slots share a message: the relation's name, filled up with
    zero bytes that no name holds, the step plus one (0: without time), both ends, all of fixed width.
    Assurance: computational, for outputs. The object itself gives everything away: it is sealed and erased
    with the dataset, and nothing but slots' answers may leave it.
    """

    edge: np.ndarray
    prf_key: np.ndarray
    flips: Flips


def respond(
    source: np.ndarray, target: np.ndarray, shape: Shape, step: int | None, flips: Flips, room: int
) -> LazyResponse:
    """Prepare the lazy response of a canonical cell under a fresh key. O(m log m); no slot is walked.

    ``room``: how many keys it holds, public or paid for. Where the cell has more edges it holds them all:
    an answer must not depend on the room, so let that be less likely than a broken key (:func:`room_for`).
    """
    if flips.add != flips.drop:
        raise InvalidInput("a lazy response flips both ways with one probability", field="flips")
    keys = np.asarray(source, dtype=np.int64) * shape.target_count + np.asarray(target, dtype=np.int64)
    beyond = shape.source_count * shape.target_count
    keys = np.append(keys, beyond + np.arange(max(0, room - len(keys)), dtype=np.int64))
    state = siphash.absorbed(siphash.keyed(siphash.fresh_key()), beginning(shape.edge_type.name, step))
    return LazyResponse(np.sort(keys), state, flips)


def room_for(noisy_count: int, nano_epsilon: int, sensitivity: int, shape: Shape) -> int:
    """Choose a bound on the number of edges. The cell exceeds it with a probability below 2^-64, by its
    paid-for count.

    ``noisy_count`` is the count with discrete Laplace noise of scale sensitivity / epsilon, which lies more
    than t below it with probability at most exp(-t epsilon / sensitivity).
    """
    # The t at which exp(-t epsilon / sensitivity) is 2^-64.
    tail = math.ceil(_TAIL * sensitivity * NANO / nano_epsilon)
    return min(max(noisy_count, 0) + tail, shape.slots)


def beginning(edge_type: str, step: int | None) -> bytes:
    """Compose the prefix of a cell's messages. Every message of a cell begins with it. Another one for every
    other relation or step."""
    name = edge_type.encode()
    if len(name) > _NAME_BYTES or b"\0" in name:
        raise InvalidInput(f"a relation's name has at most {_NAME_BYTES} bytes, none zero", field="edge_type")
    return name.ljust(_NAME_BYTES, b"\0") + (0 if step is None else step + 1).to_bytes(8, "little")


@kernel
def flipped(state: np.ndarray, threshold: np.uint64, u: int | np.int64, v: int | np.int64) -> np.bool:
    """Tell whether the slot (u, v) is flipped: its word lies below ``threshold``. 0 <= u, v < 2^32."""
    word = (np.uint64(u) << _ENDS_BITS) | np.uint64(v)
    return siphash.after_word(state, word, _CLOSING) < threshold


@kernel
def _flips(state: np.ndarray, threshold: np.uint64, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    coins = np.empty(source.size, np.bool_)
    for i in range(source.size):
        coins[i] = flipped(state, threshold, source[i], target[i])
    return coins


def bits(
    edge: np.ndarray, prf_key: np.ndarray, flips: Flips, source: np.ndarray, target: np.ndarray, shape: Shape
) -> np.ndarray:
    """Work out y of the named slots (canonical: undirected with source < target); bool. O(slots log m)."""
    keys = np.asarray(source, dtype=np.int64) * shape.target_count + np.asarray(target, dtype=np.int64)
    place = np.searchsorted(edge, keys)
    # A key behind the last one finds -1, which is no key.
    present = np.append(edge, -1)[place] == keys
    answers: np.ndarray = present ^ _flips(
        prf_key, np.uint64(flips.add), np.asarray(source), np.asarray(target)
    )
    return answers
