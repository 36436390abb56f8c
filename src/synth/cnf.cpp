#include "synth/cnf.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {

CnfCone::CnfCone(const Netlist& netlist, bool quick) : netlist_(netlist), solver_(std::make_unique<CaDiCaL::Solver>()) {
  if (quick) solver_->configure("plain");
  solver_->set("quiet", 1);
}

void CnfCone::clause(std::initializer_list<int> literals) {
  for (const int literal : literals) add(literal);
  add(0);
}

void CnfCone::add(int literal) {
  solver_->add(literal);
  if (!recording_) return;
  recorded_ += std::to_string(literal) + (literal ? ' ' : '\n');
  clauses_ += literal == 0;
}

void CnfCone::require(std::span<const Literal> literals) {
  std::vector<int> encoded;  // first all cones, then the clause
  for (const Literal& literal : literals)
    encoded.push_back(literal.inverted ? -variable(literal.net) : variable(literal.net));
  for (const int literal : encoded) add(literal);
  add(0);
}

void CnfCone::record(std::FILE* file) {
  recording_ = true;
  solver_->set("binary", 0);
  if (!solver_->trace_proof(file, "proof")) fail("proof", "a solver that is at work", "a new one");
}

std::string CnfCone::cnf() const {
  return fmt::format("c Written by espalier\np cnf {} {}\n{}", variables_, clauses_, recorded_);
}

void CnfCone::encode_gate(Net net) {
  const auto& [gate, a, b] = netlist_.gate_of_net(net);
  const int out = variable_[net] = fresh();
  ++encoded_;
  const int x = reads_a(gate) ? variable_[a] : 0, y = reads_b(gate) ? variable_[b] : 0;
  for (int u = 0; u < 2; ++u)
    for (int v = 0; v < 2; ++v) {
      if ((u && !x) || (v && !y)) continue;  // an input that is not read stays out of the clause
      // (x == u and y == v) implies out == f(u, v)
      if (x) add(u ? -x : x);
      if (y) add(v ? -y : y);
      add(gate_value(gate, u, v) ? out : -out);
      add(0);
    }
}

int CnfCone::variable(Net root) {
  if (variable_.size() < netlist_.nets()) variable_.resize(netlist_.nets());
  stack_.assign(1, root);
  while (!stack_.empty()) {
    const Net net = stack_.back();
    if (variable_[net]) {
      stack_.pop_back();
      continue;
    }
    if (netlist_.is_input(net)) {
      variable_[net] = fresh();
      ++encoded_;
      continue;
    }
    const auto& [gate, a, b] = netlist_.gate_of_net(net);
    const bool wait_a = reads_a(gate) && !variable_[a], wait_b = reads_b(gate) && !variable_[b];
    if (wait_a) stack_.push_back(a);
    if (wait_b) stack_.push_back(b);
    if (!wait_a && !wait_b) encode_gate(net);
  }
  return variable_[root];
}

CnfCone::Answer CnfCone::run(int conflicts) {
  if (conflicts >= 0) solver_->limit("conflicts", conflicts);
  switch (solver_->solve()) {
    case 10: return Answer::kSatisfiable;
    case 20: return Answer::kUnsatisfiable;
    default: return Answer::kUnknown;
  }
}

CnfCone::Answer CnfCone::solve(Net net, bool value, int conflicts) {
  const int v = variable(net);
  solver_->assume(value ? v : -v);
  const Answer answer = run(conflicts);
  if (answer == Answer::kUnsatisfiable) clause({value ? -v : v});
  return answer;
}

CnfCone::Answer CnfCone::differ(Net x, Net y, bool inverted, int conflicts) {
  const int a = variable(x), b = inverted ? -variable(y) : variable(y);
  for (const bool high : {true, false}) {
    solver_->assume(high ? a : -a);
    solver_->assume(high ? -b : b);
    const Answer answer = run(conflicts);
    if (answer != Answer::kUnsatisfiable) return answer;
    clause({high ? -a : a, high ? b : -b});
  }
  return Answer::kUnsatisfiable;
}

}  // namespace espalier
