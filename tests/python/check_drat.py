#!/usr/bin/env python3
"""check_drat.py FORMULA.cnf PROOF: says VERIFIED when every clause of a DRAT proof follows by unit propagation (RUP) from
the formula and the clauses before it, and the empty clause is among them. Written from the definition of RUP alone and
sharing nothing with the solver; steps that are RAT but not RUP are refused.
"""
import collections
import sys


class Checker:
    def __init__(self):
        self.clauses = {}  # number -> literals, the first two watched
        self.watched_by = collections.defaultdict(list)
        self.same = collections.defaultdict(list)  # sorted literals -> numbers, for deletions
        self.true, self.trail, self.done = set(), [], 0
        self.refuted, self.added = False, 0

    def propagate(self):
        """Finishes the trail; False when a clause is violated."""
        while self.done < len(self.trail):
            gone = -self.trail[self.done]
            self.done += 1
            waiting, self.watched_by[gone] = self.watched_by[gone], []
            for at, number in enumerate(waiting):
                clause = self.clauses.get(number)
                if clause is None:
                    continue
                if clause[0] == gone:
                    clause[0], clause[1] = clause[1], clause[0]
                if clause[0] in self.true:
                    self.watched_by[gone].append(number)
                    continue
                for i in range(2, len(clause)):
                    if -clause[i] not in self.true:
                        clause[1], clause[i] = clause[i], clause[1]
                        self.watched_by[clause[1]].append(number)
                        break
                else:
                    self.watched_by[gone].append(number)
                    if -clause[0] in self.true:
                        self.watched_by[gone] += waiting[at + 1:]
                        return False
                    self.assign(clause[0])
        return True

    def assign(self, literal):
        self.true.add(literal)
        self.trail.append(literal)

    def undo(self, length):
        for literal in self.trail[length:]:
            self.true.discard(literal)
        del self.trail[length:]
        self.done = min(self.done, length)

    def follows(self, literals):
        before, ok = len(self.trail), True
        for literal in literals:
            if literal in self.true:
                ok = False
                break
            if -literal not in self.true:
                self.assign(-literal)
        ok = ok and self.propagate()
        self.undo(before)
        return not ok

    def add(self, literals):
        literals = list(dict.fromkeys(literals))
        number = self.added
        self.added += 1
        self.same[tuple(sorted(literals))].append(number)
        # What is not false at the top comes first: those are the literals to watch.
        literals.sort(key=lambda literal: -literal in self.true)
        open_literals = [literal for literal in literals if -literal not in self.true]
        if not open_literals:
            self.refuted = True
        elif len(open_literals) == 1 and open_literals[0] not in self.true:
            self.assign(open_literals[0])
            self.refuted |= not self.propagate()
        if len(literals) > 1:
            self.clauses[number] = literals
            self.watched_by[literals[0]].append(number)
            self.watched_by[literals[1]].append(number)

    def delete(self, literals):
        numbers = self.same.get(tuple(sorted(set(literals))))
        if not numbers:
            raise SystemExit(f"FAILED: a deleted clause that is not there: {literals}")
        clause = self.clauses.get(numbers[-1])
        # Clauses that made a literal true at the top stay: nothing then has to be taken back.
        if clause and not any(literal in self.true for literal in clause):
            del self.clauses[numbers.pop()]


def main():
    checker = Checker()
    for line in open(sys.argv[1]):
        if line[0] not in "cp":
            checker.add([int(word) for word in line.split()[:-1]])
    steps = 0
    for line in open(sys.argv[2]):
        if checker.refuted:
            break
        words = line.split()
        if words[0] == "d":
            checker.delete([int(word) for word in words[1:-1]])
            continue
        literals = [int(word) for word in words[:-1]]
        steps += 1
        if not checker.follows(literals):
            raise SystemExit(f"FAILED: step {steps} does not follow: {literals}")
        checker.add(literals)
    if not checker.refuted:
        raise SystemExit("FAILED: the proof does not reach the empty clause")
    print(f"VERIFIED, {steps} steps")


main()
