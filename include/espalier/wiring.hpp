// Which two values each gate of a layer reads. Fixed: drawn once from the seed, never trained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/random.hpp"

namespace espalier {

// Gate g of the layer reads inputs a[g] and b[g] of the layer before.
struct Wiring {
  int inputs = 0;
  std::vector<std::int32_t> a, b;  // [outputs]
  int outputs() const { return static_cast<int>(a.size()); }
};

enum class WiringKind { kUnique, kRandom };
WiringKind wiring_kind(std::string_view name);  // "unique" or "random"

// Nine inputs (a 3x3 patch by rows, 4 the centre), eight gates: each neighbour with the centre.
Wiring moore_wiring(const Random& random);
// Every input is used; no two gates read the same pair. Needs 2 x outputs >= inputs.
Wiring unique_wiring(int inputs, int outputs, const Random& random);
// 2 x outputs wires dealt from a shuffled 0..inputs-1, repeated as needed.
Wiring random_wiring(int inputs, int outputs, const Random& random);
Wiring make_wiring(WiringKind kind, int inputs, int outputs, const Random& random);

}  // namespace espalier
