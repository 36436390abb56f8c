#!/usr/bin/env python3
"""script/strange_pictures.py FOLDER: draws thirteen pictures that nothing was tuned for, as ASCII patterns and PNGs of 12 to
24 cells: empty, full, one pixel, sparse, dense, noise, odd sizes, one and three colours. Always the same ones."""
import math
import pathlib
import random
import struct
import sys
import zlib

HI = ["#..#.###.#", "#..#..#..#", "####..#..#", "#..#..#...", "#..#.###.#"]


def save_png(path, rows):
    height, width = len(rows), len(rows[0])
    raw = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def spiral(y, x):
    turn = int(math.hypot(y - 10, x - 10) - math.atan2(y - 10, x - 10) * 4 / math.pi / 2 * 2)
    return (255, 255, 255) if turn % 4 < 2 else (0, 0, 0)


def flag(y, x):
    if abs(x - 12) < 2:
        return (0, 0, 255)
    return (255, 0, 0) if y < 8 else (0, 255, 0) if y < 16 else (255, 255, 0)


def moons(y, x):
    if (y - 8) ** 2 + (x - 6) ** 2 < 25:
        return (255, 0, 0)
    return (0, 0, 255) if (y - 14) ** 2 + (x - 10) ** 2 < 20 else (0, 0, 0)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(77)

    def pattern(name, height, width, lives):
        rows = ["".join("#" if lives(y, x) else "." for x in range(width)) for y in range(height)]
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")

    def png(name, height, width, colour):
        save_png(folder / f"{name}.png", [[colour(y, x) for x in range(width)] for y in range(height)])

    pattern("ring-13x17", 13, 17, lambda y, x: 3 <= math.hypot((y - 6) * 1.2, x - 8) <= 5.5)
    pattern("black-12", 12, 12, lambda y, x: False)
    pattern("full-14", 14, 14, lambda y, x: True)
    pattern("pixel-15x21", 15, 21, lambda y, x: (y, x) == (4, 17))
    pattern("checker-16", 16, 16, lambda y, x: (y + x) % 2)
    pattern("noise-23x19", 23, 19, lambda y, x: draw.random() < 0.5)
    pattern("sparse-24", 24, 24, lambda y, x: draw.random() < 0.05)
    pattern("dense-18", 18, 18, lambda y, x: draw.random() >= 0.08)
    png("noise3-17", 17, 17, lambda y, x: tuple(255 * draw.randrange(2) for _ in range(3)))
    png("flag-24", 24, 24, flag)
    pattern("text-13x19", 13, 19, lambda y, x: 4 <= y < 9 and 3 <= x < 13 and HI[y - 4][x - 3] == "#")
    png("bw-spiral-21", 21, 21, spiral)
    png("moons-22x16", 22, 16, moons)


main()
