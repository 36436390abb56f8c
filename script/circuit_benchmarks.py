"""Circuits to compare simplifiers on, written as BLIF the way a person would: adders, comparators, multipliers, ALUs,
parity, popcount, a seven-segment decoder, PLAs and random layered logic. Everything is drawn from fixed seeds."""
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


def benchmarks():
    return [adder(8), adder(16), adder(32), lookahead_adder(16), comparator(8), comparator(16), comparator(32),
            multiplier(4), multiplier(6), multiplier(8), alu(4), alu(8), alu(16), parity(16), parity(32),
            popcount(8), popcount(16), popcount(32), seven_segment(), barrel_shifter(16),
            pla(8, 4, 32, 1), pla(10, 6, 40, 2), pla(16, 4, 48, 3), pla(20, 8, 64, 4),
            layered(16, 24, 6, 1), layered(24, 40, 8, 2), layered(48, 80, 10, 3)]
