#include "netlist/sim_sharing.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace espalier {
namespace {

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
      if (op.code > SimCode::kAndNot) continue;
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
      if (op.code == SimCode::kZero || op.code == SimCode::kOnes ||
          moved(static_cast<std::uint32_t>(program_.inputs) + i))
        continue;
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

SharedRows share_rows(const SimProgram& program, int channels) { return Sharing(program, channels).run(); }

}  // namespace espalier
