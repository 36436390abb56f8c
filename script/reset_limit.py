"""What a perfect rule could reach in the trial of resets: a random square of 10 x 10 cells of a board is cleared after every
step. A cell can only be right by more than chance when something within its sight was not cleared; knowledge travels one
cell per step. Prints the mean share of cells that are right."""
import random

SIDE, SQUARE, STEPS = 64, 10, 2000


def main():
    draw = random.Random(1)
    known, right = [[True] * SIDE for _ in range(SIDE)], 0.0
    for _ in range(STEPS):
        spread = [[any(known[y][max(0, x - 1):x + 2]) for x in range(SIDE)] for y in range(SIDE)]
        known = [[any(spread[v][x] for v in range(max(0, y - 1), min(SIDE, y + 2))) for x in range(SIDE)]
                 for y in range(SIDE)]
        top, left = draw.randrange(SIDE - SQUARE + 1), draw.randrange(SIDE - SQUARE + 1)
        for y in range(top, top + SQUARE):
            known[y][left:left + SQUARE] = [False] * SQUARE
        right += sum(map(sum, known)) / SIDE ** 2
    print(f"{100 * (right / STEPS + (1 - right / STEPS) / 2):.1f} %")


main()
