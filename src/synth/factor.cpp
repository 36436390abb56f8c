// Factoring: sums of products (or products of sums) are written again with literals that several of their terms share
// taken out, the most frequent first. So a list of products becomes a tree, and lists that differ little share theirs.
#include <algorithm>
#include <map>
#include <optional>

#include "synth/gate_graph.hpp"
#include "synth/literal_builder.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxTerms = 512;    // of one sum
constexpr std::size_t kMaxLiterals = 64;  // of one term; what has more is left as it is
constexpr std::uint64_t kLooking = 50;    // word operations that looking at a literal is like, about

class Factorer {
 public:
  explicit Factorer(const Netlist& netlist)
      : graph_(netlist, false), result_(without_gates(netlist)), builder_(result_), now_(graph_.size()) {}

  // None: given up.
  std::optional<Netlist> run(std::uint64_t effort) {
    const std::vector<std::uint32_t> order = graph_.topological_order();
    most_looked_ = effort / kLooking;
    if (!find_sums(order)) return std::nullopt;
    for (std::uint32_t n = 1; n <= graph_.inputs(); ++n) now_[n] = {n - 1, false};
    for (const std::uint32_t n : order) {
      if (!needed_[n]) continue;
      if (looked_ > most_looked_) return std::nullopt;
      const GraphNode& node = graph_.node(n);
      now_[n] = node.is_xor ? builder_.gate(Gate::kXor, literal(node.a), literal(node.b)) : factored(sums_[n]) ^ true;
    }
    for (std::size_t o = 0; o < result_.outputs.size(); ++o) {
      const Edge edge = graph_.outputs()[o];
      result_.outputs[o].net = builder_.net(node_of(edge) == 0 ? Literal{kNoNet, inverted(edge)} : literal(edge));
    }
    return remove_dead(absorb_nots(result_));
  }

 private:
  using Term = std::vector<Edge>;  // a product of literals, ascending
  using Sum = std::vector<Term>;

  Literal literal(Edge edge) const { return now_[node_of(edge)] ^ inverted(edge); }
  bool is_and(std::uint32_t n) const { return graph_.is_gate(n) && !graph_.node(n).is_xor; }

  // The literals whose AND this gate is, through gates that are ANDs as well; empty when there are more than `most`.
  Term product_of(std::uint32_t n, std::size_t most) {
    Term open{n << 1}, product;
    while (!open.empty()) {
      ++looked_;
      const Edge edge = open.back();
      open.pop_back();
      if (is_and(node_of(edge)) && !inverted(edge)) {
        open.push_back(graph_.node(node_of(edge)).a);
        open.push_back(graph_.node(node_of(edge)).b);
      } else {
        product.push_back(edge);
      }
      if (open.size() + product.size() > most) return {};
    }
    std::sort(product.begin(), product.end());
    product.erase(std::unique(product.begin(), product.end()), product.end());
    return product;
  }

  // From the outputs down: an AND is the inverse of a sum of products; what these are made of is needed next. False:
  // given up, before the sums fill the memory.
  bool find_sums(const std::vector<std::uint32_t>& order) {
    needed_.assign(graph_.size(), false);
    sums_.resize(graph_.size());
    for (const Edge output : graph_.outputs()) needed_[node_of(output)] = true;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::uint32_t n = order[i];
      const GraphNode& node = graph_.node(n);
      if (!needed_[n]) continue;
      if (looked_ > most_looked_) return false;
      if (node.is_xor) {
        needed_[node_of(node.a)] = needed_[node_of(node.b)] = true;
        continue;
      }
      Term operands = product_of(n, kMaxTerms);
      if (operands.empty()) operands = {node.a, node.b};
      for (const Edge edge : operands) {
        Term term;
        if (is_and(node_of(edge)) && inverted(edge)) term = product_of(node_of(edge), kMaxLiterals);
        if (term.empty()) term = {edge ^ 1u};
        for (const Edge leaf : term) needed_[node_of(leaf)] = true;
        sums_[n].push_back(std::move(term));
      }
    }
    return true;
  }

  Literal joined(Gate gate, std::vector<Literal> operands) {
    for (std::size_t i = 0; i + 1 < operands.size(); i += 2)
      operands.push_back(builder_.gate(gate, operands[i], operands[i + 1]));
    return operands.back();
  }

  Literal factored(const Sum& sum) {
    std::map<Edge, std::size_t> count;
    for (const Term& term : sum) {
      for (const Edge edge : term) ++count[edge];
      looked_ += term.size();
    }
    const auto most =
        std::max_element(count.begin(), count.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    std::vector<Literal> operands;
    if (count.empty() || most->second < 2) {
      for (const Term& term : sum) {
        std::vector<Literal> factors;
        for (const Edge edge : term) factors.push_back(literal(edge));
        operands.push_back(factors.empty() ? Literal{kNoNet, true} : joined(Gate::kAnd, std::move(factors)));
      }
      return joined(Gate::kOr, std::move(operands));
    }
    Sum with, without;
    for (const Term& term : sum) {
      Term rest = term;
      if (std::erase(rest, most->first))
        with.push_back(std::move(rest));
      else
        without.push_back(term);
    }
    const Literal inner = builder_.gate(Gate::kAnd, literal(most->first), factored(with));
    return without.empty() ? inner : builder_.gate(Gate::kOr, inner, factored(without));
  }

  GateGraph graph_;
  Netlist result_;
  LiteralBuilder builder_;
  std::vector<Literal> now_;                    // [node]
  std::vector<bool> needed_;                    // [node]
  std::vector<Sum> sums_;                       // [node], of its inverse
  std::uint64_t looked_ = 0, most_looked_ = 0;  // at literals
};

}  // namespace

Netlist factor(const Netlist& netlist, std::uint64_t effort) { return Factorer(netlist).run(effort).value_or(netlist); }

}  // namespace espalier
