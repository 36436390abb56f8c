"""Circuits to compare simplifiers on, written as BLIF the way a person would: adders of several kinds, comparators,
multipliers, dividers, ALUs, parity, popcount, decoders, encoders, shifters, sorters, codes, S-boxes, PLAs, random tables
and random layered logic. Everything is drawn from fixed seeds."""
import random


class Circuit:
    def __init__(self, name):
        self.name, self.inputs, self.outputs, self.covers, self.fresh = name, [], [], [], 0

    def input(self, name):
        self.inputs.append(name)
        return name

    def bus(self, name, width):
        return [self.input(f"{name}{i}") for i in range(width)]

    def names(self, sources, rows):
        self.fresh += 1
        net = f"n{self.fresh}"
        self.covers.append((list(sources), net, rows))
        return net

    def gate(self, kind, a, b):
        return self.names([a, b], {"and": ["11"], "or": ["1-", "-1"], "xor": ["10", "01"], "nand": ["0-", "-0"],
                                   "nor": ["00"], "xnor": ["11", "00"], "andn": ["10"], "orn": ["1-", "-0"]}[kind])

    def invert(self, a):
        return self.names([a], ["0"])

    def constant(self, value):
        return self.names([], [""] if value else [])

    def mux(self, pick, one, zero):
        return self.names([pick, one, zero], ["11-", "0-1"])

    def full_adder(self, a, b, c):
        half = self.gate("xor", a, b)
        return self.gate("xor", half, c), self.names([a, b, c], ["11-", "1-1", "-11"])

    def add(self, a, b, carry=None):
        sums = []
        for x, y in zip(a, b):
            if carry is None:
                total, carry = self.gate("xor", x, y), self.gate("and", x, y)
            else:
                total, carry = self.full_adder(x, y, carry)
            sums.append(total)
        return sums, carry

    def output(self, name, net):
        self.outputs.append((name, net))

    def output_bus(self, name, nets):
        for i, net in enumerate(nets):
            self.output(f"{name}{i}", net)

    def blif(self):
        lines = [f".model {self.name}", ".inputs " + " ".join(self.inputs),
                 ".outputs " + " ".join(name for name, _ in self.outputs)]
        covers = self.covers + [([net], name, ["1"]) for name, net in self.outputs]
        for sources, net, rows in covers:
            lines.append(" ".join([".names", *sources, net]))
            lines += [f"{row} 1" if row else "1" for row in rows]
        return "\n".join(lines + [".end", ""])


def adder(width):
    c = Circuit(f"adder{width}")
    sums, carry = c.add(c.bus("a", width), c.bus("b", width))
    c.output_bus("s", sums + [carry])
    return c


def lookahead_adder(width):
    """Carries written out as sums of products over four bits at a time."""
    c = Circuit(f"lookahead{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    carry = c.input("cin")
    for start in range(0, width, 4):
        g = [c.gate("and", x, y) for x, y in zip(a[start:start + 4], b[start:start + 4])]
        p = [c.gate("xor", x, y) for x, y in zip(a[start:start + 4], b[start:start + 4])]
        carries = [carry]
        for i in range(1, 5):
            rows = []
            for j in range(i + 1):  # generated at j - 1 (0: the carry in), propagated by all after it
                columns = ["1" if j == 0 else "-"] + ["1" if j == k + 1 else "-" for k in range(i)]
                rows.append("".join(columns + ["1" if k >= j else "-" for k in range(i)]))
            carries.append(c.names([carry, *g[:i], *p[:i]], rows))
        for i in range(4):
            c.output(f"s{start + i}", c.gate("xor", p[i], carries[i]))
        carry = carries[4]
    c.output("cout", carry)
    return c


def comparator(width):
    c = Circuit(f"comparator{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    less, equal = c.constant(False), c.constant(True)
    for x, y in zip(a, b):
        same = c.gate("xnor", x, y)
        less = c.names([x, y, same, less], ["01--", "--11"])
        equal = c.gate("and", equal, same)
    c.output("less", less)
    c.output("equal", equal)
    c.output("greater", c.gate("nor", less, equal))
    return c


def multiplier(width):
    c = Circuit(f"multiplier{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    row = [c.gate("and", x, b[0]) for x in a]
    product, top = [row[0]], None
    row = row[1:] + [c.constant(False)]
    for y in b[1:]:
        partial = [c.gate("and", x, y) for x in a]
        sums, top = c.add(row, partial)
        product.append(sums[0])
        row = sums[1:] + [top]
    c.output_bus("p", product + row)
    return c


def alu(width):
    """AND, OR, XOR, NOR, add, subtract, less-than and pass, chosen by three bits, with a zero flag."""
    c = Circuit(f"alu{width}")
    a, b, op = c.bus("a", width), c.bus("b", width), c.bus("op", 3)
    sums, _ = c.add(a, b)
    differences, no_borrow = c.add(a, [c.invert(x) for x in b], c.constant(True))
    results = []
    zero = c.constant(False)
    for i, (x, y) in enumerate(zip(a, b)):
        below = c.invert(no_borrow) if i == 0 else zero
        choices = [c.gate("and", x, y), c.gate("or", x, y), c.gate("xor", x, y), c.gate("nor", x, y), sums[i],
                   differences[i], below, x]
        for bit in op:
            choices = [c.mux(bit, one, nil) for nil, one in zip(choices[::2], choices[1::2])]
        results.append(choices[0])
    c.output_bus("r", results)
    c.output("zero", c.names(results, ["0" * width]))
    return c


def parity(width):
    c = Circuit(f"parity{width}")
    x = c.bus("x", width)
    total = x[0]
    for y in x[1:]:  # as ANDs and ORs: the XORs are to be found
        total = c.gate("or", c.gate("andn", total, y), c.gate("andn", y, total))
    c.output("odd", total)
    return c


def popcount(width):
    c = Circuit(f"popcount{width}")
    columns = {0: c.bus("x", width)}
    place = 0
    while place in columns:
        column = columns[place]
        while len(column) > 1:
            if len(column) > 2:
                total, carry = c.full_adder(*column[:3])
                column = column[3:] + [total]
            else:
                total, carry = c.gate("xor", *column), c.gate("and", *column)
                column = [total]
            columns.setdefault(place + 1, []).append(carry)
        c.output(f"n{place}_", column[0])
        place += 1
    return c


def seven_segment():
    segments = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011 1111110 0101111 " \
               "1100101 0011111 1101101 1101100".split()
    c = Circuit("seven-segment")
    x = c.bus("x", 4)
    for s in range(7):
        rows = ["".join(str(v >> i & 1) for i in range(4)) for v in range(16) if segments[v][s] == "1"]
        c.output(f"seg{s}", c.names(x, rows))
    return c


def pla(inputs, outputs, products, seed):
    rng = random.Random(seed)
    c = Circuit(f"pla{inputs}x{outputs}x{products}")
    x = c.bus("x", inputs)
    rows = ["".join(rng.choice("01--") for _ in range(inputs)) for _ in range(products)]
    for o in range(outputs):
        c.output(f"y{o}", c.names(x, [row for row in rows if rng.random() < 0.4] or rows[:1]))
    return c


def layered(inputs, width, layers, seed):
    """Each gate of a layer reads two nets of the two layers before it."""
    rng = random.Random(seed)
    c = Circuit(f"layered{inputs}x{width}x{layers}")
    before, last = [], c.bus("x", inputs)
    for _ in range(layers):
        pool = before + last
        before, last = last, [c.gate(rng.choice(["and", "or", "xor", "nand", "nor", "xnor", "andn", "orn"]),
                                     *rng.sample(pool, 2)) for _ in range(width)]
    c.output_bus("y", last)
    return c


def barrel_shifter(width):
    c = Circuit(f"shifter{width}")
    data = c.bus("d", width)
    for i, bit in enumerate(c.bus("s", width.bit_length() - 1)):
        data = [c.mux(bit, data[(j + (1 << i)) % width], data[j]) for j in range(width)]
    c.output_bus("q", data)
    return c


def prefix_adder(width):
    """Kogge and Stone: every carry by a tree of its own, which share their branches."""
    c = Circuit(f"prefix{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    half = [c.gate("xor", x, y) for x, y in zip(a, b)]
    generate, propagate = [c.gate("and", x, y) for x, y in zip(a, b)], half
    reach = 1
    while reach < width:
        far = range(reach, width)
        generate, propagate = (
            generate[:reach] + [c.names([generate[i], propagate[i], generate[i - reach]], ["1--", "-11"]) for i in far],
            propagate[:reach] + [c.gate("and", propagate[i], propagate[i - reach]) for i in far])
        reach *= 2
    c.output_bus("s", half[:1] + [c.gate("xor", half[i], generate[i - 1]) for i in range(1, width)] + generate[-1:])
    return c


def tree_multiplier(width):
    """Wallace: columns of partial products are halved and thirded together, then added."""
    c = Circuit(f"wallace{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    columns = [[c.gate("and", a[i], b[k - i]) for i in range(width) if 0 <= k - i < width] for k in range(2 * width)]
    while max(map(len, columns)) > 1:
        after = [[] for _ in range(2 * width + 1)]
        for k, column in enumerate(columns):
            whole = len(column) - len(column) % 3
            for i in range(0, whole, 3):
                total, carry = c.full_adder(*column[i:i + 3])
                after[k].append(total)
                after[k + 1].append(carry)
            rest = column[whole:]
            if len(rest) == 2:
                after[k + 1].append(c.gate("and", *rest))
                rest = [c.gate("xor", *rest)]
            after[k] += rest
        columns = after[:2 * width]
    c.output_bus("p", [column[0] if column else c.constant(False) for column in columns])
    return c


def divider(width):
    """Restoring: quotient and remainder."""
    c = Circuit(f"divider{width}")
    a, b = c.bus("a", width), c.bus("b", width)
    one = c.constant(True)
    inverse = [c.invert(y) for y in b] + [one]
    rest, quotient = [c.constant(False)] * width, []
    for x in reversed(a):
        shifted = [x, *rest]
        difference, fits = c.add(shifted, inverse, one)
        quotient.insert(0, fits)
        rest = [c.mux(fits, less, as_is) for less, as_is in zip(difference, shifted)][:width]
    c.output_bus("q", quotient)
    c.output_bus("r", rest)
    return c


def priority_encoder(width):
    c = Circuit(f"priority{width}")
    x = c.bus("x", width)
    first = ["0" * i + "1" + "-" * (width - 1 - i) for i in range(width)]
    for bit in range((width - 1).bit_length()):
        c.output(f"i{bit}", c.names(x, [row for i, row in enumerate(first) if i >> bit & 1]))
    c.output("any", c.names(x, first))
    return c


def sorter(width):
    """Single bits, sorted by exchanging neighbours."""
    c = Circuit(f"sorter{width}")
    x = c.bus("x", width)
    for end in range(width - 1, 0, -1):
        for i in range(end):
            x[i], x[i + 1] = c.gate("or", x[i], x[i + 1]), c.gate("and", x[i], x[i + 1])
    c.output_bus("y", x)
    return c


def crc(width, polynomial, data):
    c = Circuit(f"crc{width}x{data}")
    state = c.bus("c", width)
    for bit in c.bus("d", data):
        back = c.gate("xor", state[-1], bit)
        state = [back] + [c.gate("xor", s, back) if polynomial >> i & 1 else s for i, s in enumerate(state[:-1], 1)]
    c.output_bus("r", state)
    return c


def decimal(width):
    """Binary to decimal digits: shifted in from the top, with 3 added to digits of 5 or more."""
    c = Circuit(f"decimal{width}")
    digits = [[c.constant(False)] * 4 for _ in str((1 << width) - 1)]
    for bit in reversed(c.bus("x", width)):
        carry = bit
        for i, digit in enumerate(digits):
            large = c.names(digit, ["---1", "1-1-", "-11-"])
            digit, _ = c.add(digit, [large, large, c.constant(False), c.constant(False)])
            digits[i], carry = [carry, *digit[:3]], digit[3]
    for i, digit in enumerate(digits):
        c.output_bus(f"d{i}_", digit)
    return c


def hamming_decoder(checks):
    """Corrects one wrong bit."""
    width = (1 << checks) - 1
    c = Circuit(f"hamming{width}")
    word = c.bus("w", width)
    syndrome = []
    for k in range(checks):
        total, *others = [word[i - 1] for i in range(1, width + 1) if i >> k & 1]
        for other in others:
            total = c.gate("xor", total, other)
        syndrome.append(total)
    for i in range(1, width + 1):
        if i & (i - 1):
            wrong = c.names(syndrome, ["".join(str(i >> k & 1) for k in range(checks))])
            c.output(f"d{i}", c.gate("xor", word[i - 1], wrong))
    return c


def flat_rotator(width):
    """Each output a list of products."""
    c = Circuit(f"rotator{width}")
    picks, data = c.bus("s", width.bit_length() - 1), c.bus("d", width)
    for q in range(width):
        c.output(f"q{q}", c.names(picks + data, [
            "".join(str(v >> i & 1) for i in range(len(picks))) +
            "".join("1" if i == (q + v) % width else "-" for i in range(width)) for v in range(width)]))
    return c


def table(name, inputs, columns):
    """One cover of minterms for each output: columns[output][pattern]."""
    c = Circuit(name)
    x = c.bus("x", inputs)
    for o, column in enumerate(columns):
        c.output(f"y{o}", c.names(x, ["".join(str(v >> i & 1) for i in range(inputs))
                                      for v in range(1 << inputs) if column[v]]))
    return c


def majority(width):
    return table(f"majority{width}", width, [[2 * v.bit_count() > width for v in range(1 << width)]])


def inverse_sbox():
    """Inverses in the field of 256 elements with the polynomial 0x11B, and an affine map: that of AES."""
    def times(x, y):
        product = 0
        for i in range(8):
            product ^= x * (y >> i & 1)
            x = x << 1 ^ (0x11B if x >> 7 else 0)
        return product

    def power(x, n):
        return 1 if n == 0 else times(x, power(x, n - 1))

    inverses = [power(x, 254) for x in range(256)]
    boxes = [0x63] * 256
    for x, y in enumerate(inverses):
        for turn in range(5):
            boxes[x] ^= (y << turn | y >> (8 - turn)) & 255
    return table("sbox8", 8, [[box >> o & 1 for box in boxes] for o in range(8)])


def random_table(inputs, outputs, seed):
    rng = random.Random(seed)
    return table(f"table{inputs}x{outputs}", inputs,
                 [[rng.random() < 0.5 for _ in range(1 << inputs)] for _ in range(outputs)])


def benchmarks():
    return [adder(8), adder(16), adder(32), lookahead_adder(16), comparator(8), comparator(16), comparator(32),
            multiplier(4), multiplier(6), multiplier(8), alu(4), alu(8), alu(16), parity(16), parity(32),
            popcount(8), popcount(16), popcount(32), seven_segment(), barrel_shifter(16),
            pla(8, 4, 32, 1), pla(10, 6, 40, 2), pla(16, 4, 48, 3), pla(20, 8, 64, 4),
            layered(16, 24, 6, 1), layered(24, 40, 8, 2), layered(48, 80, 10, 3),
            prefix_adder(16), tree_multiplier(8), divider(6), priority_encoder(16), sorter(8), crc(16, 0x1021, 8),
            decimal(8), hamming_decoder(4), flat_rotator(8), majority(9), inverse_sbox(), random_table(6, 4, 5),
            random_table(8, 2, 6)]
