#include "synth/window_proof.hpp"

#include <algorithm>
#include <array>

namespace espalier {
namespace {

constexpr std::size_t kMaxOpened = 160;   // gates above a cut
constexpr std::size_t kMaxFrontier = 40;  // nets of a cut on the way to a smaller one

}  // namespace

void WindowProof::add_leaf(Net net) {
  const auto at = std::lower_bound(leaves_.begin(), leaves_.end(), net);
  if (at == leaves_.end() || *at != net) leaves_.insert(at, net);
}

// The last net of the cut in the order of the netlist is replaced by what it reads: no net of the cut lies below it.
bool WindowProof::open_highest() {
  if (leaves_.empty() || netlist_.is_input(leaves_.back()) || opened_.size() == kMaxOpened) return false;
  const Net net = leaves_.back();
  leaves_.pop_back();
  opened_.push_back(net);
  const NetlistGate& gate = netlist_.gate_of_net(net);
  if (reads_a(gate.gate)) add_leaf(gate.a);
  if (reads_b(gate.gate)) add_leaf(gate.b);
  return leaves_.size() <= kMaxFrontier;
}

bool WindowProof::same_over(const Cut& cut, Net x, Net y, bool inverted) {
  const std::size_t L = cut.leaves.size();
  const std::uint64_t blocks = L > 6 ? std::uint64_t{1} << (L - 6) : 1;
  if (row_.size() < netlist_.nets()) row_.resize(netlist_.nets());
  std::uint32_t rows = 0;
  for (const Net leaf : cut.leaves) row_[leaf] = rows++;
  for (std::size_t i = cut.opened; i-- > 0;) row_[opened_[i]] = rows++;
  words_.assign(rows + 1, 0);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < L; ++i) words_[i] = counting_word(i, block);
    for (std::size_t i = cut.opened; i-- > 0;) {
      const NetlistGate& gate = netlist_.gate_of_net(opened_[i]);
      const std::uint64_t a = reads_a(gate.gate) ? words_[row_[gate.a]] : 0;
      const std::uint64_t b = reads_b(gate.gate) ? words_[row_[gate.b]] : 0;
      words_[row_[opened_[i]]] = apply_gate(gate.gate, a, b);
    }
    spent_ += rows;
    const std::uint64_t other = y == kNoNet ? 0 : words_[row_[y]];
    if ((words_[row_[x]] ^ other) != (inverted ? ~std::uint64_t{0} : 0)) return false;
  }
  return true;
}

bool WindowProof::equal(Net x, Net y, bool inverted) {
  leaves_.clear();
  opened_.clear();
  add_leaf(x);
  if (y != kNoNet) add_leaf(y);
  // The deepest cut of each size, the cheapest first.
  const std::array<std::size_t, 3> sizes{std::min<std::size_t>(most_, 6), std::min<std::size_t>(most_, 10), most_};
  std::array<Cut, 3> cuts;
  while (open_highest())
    for (std::size_t i = 0; i < cuts.size(); ++i)
      if (leaves_.size() <= sizes[i]) {
        cuts[i] = {leaves_, opened_.size()};
        break;
      }
  spent_ += 4 * opened_.size();
  return std::any_of(cuts.begin(), cuts.end(),
                     [&](const Cut& cut) { return cut.opened > 0 && same_over(cut, x, y, inverted); });
}

}  // namespace espalier
