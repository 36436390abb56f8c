// The circuit of a life model as `espalier train life` and `espalier export --to json` gave it: 439 active gates as
// trained, 35 simplified. Kept for the benchmarks, which must not train.
#pragma once

namespace espalier {

inline constexpr char kTrainedLife[] = R"({
"format": "espalier-netlist",
"version": 1,
"name": "life",
"inputs": ["p0c0", "p1c0", "p2c0", "p3c0", "p4c0", "p5c0", "p6c0", "p7c0", "p8c0"],
"gates": [[7, 1, 5], [7, 3, 8], [1, 9, 10], [1, 0, 6], [1, 1, 5], [7, 2, 7], [1, 2, 7], [7, 0, 6],
[7, 15, 16], [1, 3, 8], [7, 17, 18], [1, 14, 19], [7, 13, 20], [1, 12, 21], [7, 11, 22], [7, 9, 10],
[7, 14, 19], [1, 24, 25], [7, 12, 21], [7, 26, 27], [6, 23, 28], [1, 15, 16], [7, 13, 18], [1, 17, 31],
[7, 30, 32], [6, 29, 33], [1, 26, 27], [7, 10, 14], [1, 28, 36], [6, 35, 37], [4, 34, 38], [7, 4, 35],
[1, 34, 40], [4, 33, 41], [7, 39, 42]],
"outputs": [
{"name": "next0", "net": 43}
]
})";

}  // namespace espalier
