#include "netlist/sim_program.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "netlist/cell.hpp"

namespace espalier {
namespace {

// A value and whether it holds the inverse of what is meant.
struct Held {
  std::uint32_t value = 0;
  bool inverted = false;
};

class Compiler {
 public:
  explicit Compiler(const Netlist& netlist) : netlist_(netlist), held_(netlist.nets()) {
    program_.inputs = netlist.inputs.size();
    for (std::uint32_t i = 0; i < program_.inputs; ++i) held_[i] = {i, false};
  }

  SimProgram run() {
    for (std::size_t g = 0; g < netlist_.gates.size(); ++g) held_[netlist_.net_of_gate(g)] = gate(netlist_.gates[g]);
    std::vector<bool> taken(program_.values() + 2 * netlist_.outputs.size());
    for (const NetlistOutput& output : netlist_.outputs) {
      Held h = held_[output.net];
      if (h.inverted)
        h.value = emit(SimCode::kNot, h.value, h.value);
      else if (h.value < program_.inputs || taken[h.value])
        h.value = emit(SimCode::kCopy, h.value, h.value);
      taken[h.value] = true;
      program_.outputs.push_back(h.value);
    }
    return std::move(program_);
  }

 private:
  std::uint32_t emit(SimCode code, std::uint32_t a, std::uint32_t b) {
    program_.ops.push_back({code, a, b});
    return static_cast<std::uint32_t>(program_.values() - 1);
  }

  Held gate(const NetlistGate& g) {
    Gate type = g.gate;
    if (is_constant(type)) return {emit(type == Gate::kTrue ? SimCode::kOnes : SimCode::kZero, 0, 0), false};
    if (!reads_b(type)) return {held_[g.a].value, held_[g.a].inverted != (type == Gate::kNotA)};
    if (!reads_a(type)) return {held_[g.b].value, held_[g.b].inverted != (type == Gate::kNotB)};
    const auto [x, flip_x] = held_[g.a];
    const auto [y, flip_y] = held_[g.b];
    if (flip_x) type = invert_a(type);
    if (flip_y) type = invert_b(type);
    // In the polarity with f(0,0) = 0 five gates are left, each one operation.
    const bool inverted = gate_value(type, false, false);
    if (inverted) type = invert_output(type);
    switch (type) {
      case Gate::kAnd: return {emit(SimCode::kAnd, x, y), inverted};
      case Gate::kOr: return {emit(SimCode::kOr, x, y), inverted};
      case Gate::kXor: return {emit(SimCode::kXor, x, y), inverted};
      case Gate::kNotAAndB: return {emit(SimCode::kAndNot, x, y), inverted};
      default: return {emit(SimCode::kAndNot, y, x), inverted};  // A and not B
    }
  }

  const Netlist& netlist_;
  SimProgram program_;
  std::vector<Held> held_;
};

constexpr int kNoRow = -1;

// A value of one row alone: which of the patch's three rows, and which value of the row program.
struct RowValue {
  int row = kNoRow;
  std::uint32_t value = 0;
};

class Sharing {
 public:
  Sharing(const SimProgram& program, int channels)
      : program_(program), row_inputs_(3 * static_cast<std::uint32_t>(channels)), of_(program.values()) {
    for (std::uint32_t i = 0; i < 3 * row_inputs_; ++i) of_[i] = {static_cast<int>(i / row_inputs_), i % row_inputs_};
    find_row_values();
  }

  SharedRows run() {
    mark_outputs();
    if (saved_ <= outputs_.size()) return {{}, program_};  // a value costs a store, and a load where it is read
    SharedRows shared;
    shared.row.inputs = row_inputs_;
    std::vector<std::uint32_t> in_row(row_inputs_ + ops_.size());
    for (std::uint32_t v = 0; v < in_row.size(); ++v) {
      in_row[v] = v;
      if (!is_shared(v)) continue;
      const SimOp& op = ops_[v - row_inputs_];
      in_row[v] = static_cast<std::uint32_t>(shared.row.values());
      shared.row.ops.push_back({op.code, in_row[op.a], in_row[op.b]});
    }
    for (const std::uint32_t v : outputs_) shared.row.outputs.push_back(in_row[v]);
    shared.cell = cell_program();
    return shared;
  }

 private:
  // Numbers the values of single rows; the same operation on the same values of another row has the same number.
  void find_row_values() {
    std::map<std::tuple<SimCode, std::uint32_t, std::uint32_t>, std::uint32_t> known;
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const SimOp& op = program_.ops[i];
      if (operands(op.code) < 2) continue;
      const RowValue a = of_[op.a], b = of_[op.b];
      if (a.row == kNoRow || a.row != b.row) continue;
      SimOp row_op{op.code, a.value, b.value};
      if (op.code != SimCode::kAndNot && row_op.a > row_op.b) std::swap(row_op.a, row_op.b);
      const auto [at, fresh] =
          known.try_emplace({row_op.code, row_op.a, row_op.b}, row_inputs_ + static_cast<std::uint32_t>(ops_.size()));
      if (fresh) {
        ops_.push_back(row_op);
        rows_.push_back(0);
      }
      of_[program_.inputs + i] = {a.row, at->second};
      rows_[at->second - row_inputs_] |= 1u << a.row;
    }
    for (const unsigned rows : rows_) saved_ += static_cast<std::size_t>(std::popcount(rows)) - 1;
  }

  // Computed in at least two rows, and with it all that it is made of.
  bool is_shared(std::uint32_t row_value) const {
    return row_value >= row_inputs_ && std::popcount(rows_[row_value - row_inputs_]) > 1;
  }
  bool moved(std::uint32_t value) const { return of_[value].row != kNoRow && is_shared(of_[value].value); }

  // Shared values that the rest of the program reads.
  void mark_outputs() {
    const auto read = [&](std::uint32_t value) {
      if (moved(value) && std::find(outputs_.begin(), outputs_.end(), of_[value].value) == outputs_.end())
        outputs_.push_back(of_[value].value);
    };
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const SimOp& op = program_.ops[i];
      if (operands(op.code) == 0 || moved(static_cast<std::uint32_t>(program_.inputs) + i)) continue;
      read(op.a);
      read(op.b);
    }
    for (const std::uint32_t value : program_.outputs) read(value);
  }

  SimProgram cell_program() const {
    SimProgram cell;
    cell.inputs = program_.inputs + 3 * outputs_.size();
    std::vector<std::uint32_t> to(program_.values());
    for (std::uint32_t v = 0; v < program_.values(); ++v) {
      if (moved(v)) {
        const auto at = std::find(outputs_.begin(), outputs_.end(), of_[v].value);
        const auto output = static_cast<std::size_t>(at - outputs_.begin());  // past the end: read by nobody
        to[v] = static_cast<std::uint32_t>(program_.inputs + 3 * output) + static_cast<std::uint32_t>(of_[v].row);
      } else if (v < program_.inputs) {
        to[v] = v;
      } else {
        const SimOp& op = program_.ops[v - program_.inputs];
        to[v] = static_cast<std::uint32_t>(cell.values());
        cell.ops.push_back({op.code, to[op.a], to[op.b]});
      }
    }
    for (const std::uint32_t output : program_.outputs) {
      if (moved(output)) cell.ops.push_back({SimCode::kCopy, to[output], to[output]});
      cell.outputs.push_back(moved(output) ? static_cast<std::uint32_t>(cell.values() - 1) : to[output]);
    }
    return cell;
  }

  const SimProgram& program_;
  std::uint32_t row_inputs_;
  std::vector<RowValue> of_;            // [value of the program]
  std::vector<SimOp> ops_;              // of the row values, on row values
  std::vector<unsigned> rows_;          // [row op] bit r: computed of row r
  std::size_t saved_ = 0;               // operations of a cell, less those of a row
  std::vector<std::uint32_t> outputs_;  // row values
};

}  // namespace

SimProgram sim_program(const Netlist& netlist) {
  check_netlist(netlist, "simulator");
  return Compiler(sort_netlist(netlist, "simulator", true)).run();  // sorted depth first
}

std::vector<bool> used_inputs(const SimProgram& program) {
  std::vector<bool> used(program.inputs);
  for (const SimOp& op : program.ops) {
    if (operands(op.code) > 0 && op.a < program.inputs) used[op.a] = true;
    if (operands(op.code) > 1 && op.b < program.inputs) used[op.b] = true;
  }
  return used;
}

Netlist with_fire(const Netlist& cell) {
  const int C = cell_channels(cell);
  Netlist result;
  result.name = cell.name;
  result.inputs = cell.inputs;
  const Net fire = result.add_input("fire");
  const auto moved = [&](Net net) { return net < fire ? net : net + 1; };
  for (const NetlistGate& g : cell.gates) result.add_gate(g.gate, moved(g.a), moved(g.b));
  for (int c = 0; c < C; ++c) {
    const NetlistOutput& output = cell.outputs[static_cast<std::size_t>(c)];
    const Net old = patch_net(4, c, C), fresh = moved(output.net);
    const Net change = result.add_gate(Gate::kAnd, result.add_gate(Gate::kXor, fresh, old), fire);
    result.add_output(output.name, result.add_gate(Gate::kXor, change, old));
  }
  return result;
}

SharedRows share_rows(const SimProgram& program, int channels) { return Sharing(program, channels).run(); }

}  // namespace espalier
