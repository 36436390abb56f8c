// Gates as clauses for CaDiCaL: the cones of the nets that are asked about, added on demand.
#pragma once

#include <cadical.hpp>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "synth/literal_builder.hpp"

namespace espalier {

class CnfCone {
 public:
  enum class Answer { kUnsatisfiable, kSatisfiable, kUnknown };

  // `quick`: no pre- or inprocessing, for thousands of small questions.
  CnfCone(const Netlist& netlist, bool quick);

  // Can `net` be 1 (or, `value` false, be 0)? conflicts < 0: no limit.
  Answer solve(Net net, bool value, int conflicts = -1);
  // Can x differ from y (y inverted first if asked)? An "unsatisfiable" is remembered as a clause.
  Answer differ(Net x, Net y, bool inverted, int conflicts = -1);
  // One of the literals is true, from now on. Of no literals: nothing is satisfiable any more.
  void require(std::span<const Literal> literals);
  Answer solve() { return run(-1); }

  // Before anything else: what is added is kept for write_cnf, and what is derived goes to `file` as DRAT.
  void record(std::FILE* file);
  void close_record() { solver_->close_proof_trace(); }
  std::string cnf() const;  // in DIMACS

  // After kSatisfiable: the inputs that were given a value; others may be anything.
  bool knows(Net input) const { return input < variable_.size() && variable_[input] != 0; }
  bool input_value(Net input) { return solver_->val(variable_[input]) > 0; }

  std::size_t encoded() const { return encoded_; }
  // Asked between chunks of work; returns true to give up.
  void connect(CaDiCaL::Terminator* terminator) { solver_->connect_terminator(terminator); }

 private:
  int variable(Net net);  // encodes the net's cone first
  int fresh() { return ++variables_; }
  void add(int literal);  // 0 ends a clause
  void clause(std::initializer_list<int> literals);
  void encode_gate(Net net);
  Answer run(int conflicts);

  const Netlist& netlist_;  // may grow after construction
  std::unique_ptr<CaDiCaL::Solver> solver_;
  std::vector<int> variable_;  // [net], 0 = not encoded
  std::vector<Net> stack_;
  int variables_ = 0;
  std::size_t encoded_ = 0, clauses_ = 0;
  bool recording_ = false;
  std::string recorded_;
};

}  // namespace espalier
