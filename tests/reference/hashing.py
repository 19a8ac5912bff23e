"""Every draw is a hash of its name (docs/algorithm.md, 2.2)."""

LEFT, RIGHT, ATTRIBUTE, CANDIDATE, ARRIVAL, TREE, OCCUPANCY, CANDIDATE_BELOW, STABLE = range(9)

U64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """The finaliser of SplitMix64."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & U64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & U64
    return z ^ (z >> 31)


def H(h: int, *words: int) -> int:  # noqa: N802 - its name in the definition
    """The hash of the words, one after the other, started at h; negative words enter as two's complement."""
    for word in words:
        h = mix((h + GOLDEN_GAMMA * ((word & U64) + 1)) & U64)
    return h


def R(key: int, word: int) -> int:  # noqa: N802 - its name in the definition
    """The rank of a word of 32 bits under a key: the order in which things that compete for few places come."""
    low, high = key % 2**32, key >> 32
    z = (word ^ low) % 2**32
    z = (z ^ (z >> 16)) * 0x7FEB352D % 2**32
    z = ((z ^ (z >> 15)) + high) * 0x846CA68B % 2**32
    return z ^ (z >> 16)


def root_key(seed: int, tree: int) -> int:
    """The key of the root of a tree."""
    return H(seed, TREE, tree)
