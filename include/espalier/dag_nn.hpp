// A network whose shape is any directed acyclic graph: one weight per edge, a bias and an activation per node.
//   z_v = b_v + s_v sum_{u->v} w_uv a_u,   a_v = f_v(z_v),   s_v = 1 or 1/sqrt(fan_in(v));  a_v = sample for inputs
// A batch of B samples runs as B lanes through the same graph. Gradients add up over calls until zero_grad().
// TableModel is such a network on the rows of a table: what the table task trains.
// Example:
//   DagNN network = DagNN::layered({2, 8, 1}, {.hidden = Activation::kTanh, .seed = 7});
//   for (int step = 0; step < 1000; ++step) {
//     const std::span<const float> y = network.forward({0, 0, 0, 1, 1, 0, 1, 1}, 4);  // four samples of two inputs
//     network.zero_grad();
//     network.backward_accumulate({y[0] - 0, y[1] - 1, y[2] - 1, y[3] - 0});  // of half the squared error of xor
//     network.step(0.1f);
//   }
//   network.prune_percentile(10);  // ids of what is left stay
//   const auto iris = load_model_as<TableModel>("runs/iris");
//   const std::vector<double> said = iris->predict(parse_csv("petal_length,petal_width\n1.4,0.2\n", "a flower"));
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "espalier/graph.hpp"
#include "espalier/model.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

using NodeId = std::uint32_t;
using EdgeId = std::uint32_t;

// Values are part of the file format.
enum class NodeKind : std::uint8_t { kInput = 0, kHidden = 1, kOutput = 2 };

inline constexpr std::uint32_t kNoSymbol = 0xFFFFFFFF;

struct DagNode {
  NodeKind kind = NodeKind::kHidden;
  Activation activation = Activation::kLinear;
  std::uint32_t symbol = kNoSymbol;  // Unicode code point of networks made from text
  std::uint32_t order = 0;           // sources before targets
  std::vector<EdgeId> in, out;
};

struct DagEdge {
  NodeId from, to;
};

// The shape of a DagNN: nodes and edges with ids that are never reused, and a topological order that is kept
// up to date edge by edge (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
// graphs", 2006). A call that fails changes nothing. Weights live elsewhere.
class DagTopology {
 public:
  const std::map<NodeId, DagNode>& nodes() const { return nodes_; }
  const std::map<EdgeId, DagEdge>& edges() const { return edges_; }
  bool has_node(NodeId id) const { return nodes_.contains(id); }
  const DagNode& node(NodeId id) const;  // Errors for unknown ids
  const DagEdge& edge(EdgeId id) const;
  std::optional<EdgeId> find_edge(NodeId from, NodeId to) const;

  NodeId add_node(NodeKind kind, Activation activation, std::uint32_t symbol = kNoSymbol);
  // Errors: unknown ids, an edge into an input, the same edge twice, an edge that closes a cycle.
  EdgeId add_edge(NodeId from, NodeId to);
  void remove_edge(EdgeId id);
  void remove_node(NodeId id);  // with its edges
  // Puts a new linear node into the edge: the edge keeps its id and now ends at the node; the second edge,
  // from the node to the old target, is new.
  struct Split {
    NodeId node;
    EdgeId second;
  };
  Split split_edge(EdgeId id);

  // Ids in topological order; equal for equal graphs with equal ids (by level, then by id), inputs first.
  struct Order {
    std::vector<NodeId> nodes;
    std::vector<std::uint32_t> level_starts;  // level 0 is the inputs; [levels + 1]
  };
  Order levels() const;

  // For files: ids as they were, and the ids the next additions get.
  void insert_node(NodeId id, NodeKind kind, Activation activation, std::uint32_t symbol);
  void insert_edge(EdgeId id, NodeId from, NodeId to);
  void reserve_ids(NodeId next_node, EdgeId next_edge);
  NodeId next_node() const { return next_node_; }
  EdgeId next_edge() const { return next_edge_; }

 private:
  void check_edge(NodeId from, NodeId to) const;
  void make_room_in_order(NodeId from, NodeId to);
  void link(EdgeId id, NodeId from, NodeId to);
  void unlink(EdgeId id);

  std::map<NodeId, DagNode> nodes_;
  std::map<EdgeId, DagEdge> edges_;
  std::unordered_map<std::uint64_t, EdgeId> by_ends_;  // looked up, never walked
  NodeId next_node_ = 0;
  EdgeId next_edge_ = 0;
  std::uint32_t next_order_ = 0;
};

class SafetensorsFile;

struct DagOptions {
  bool fan_in_scaling = false;
};

struct LayeredOptions {
  double density = 1.0;  // fraction of the edges between neighbouring layers; no node is left without an edge
  Activation hidden = Activation::kTanh;
  Activation output = Activation::kLinear;
  bool fan_in_scaling = false;
  std::uint64_t seed = 0;  // of the weights and the choice of edges
};

struct WeightedEdge {
  std::uint32_t from, to;
  float weight;
};

class DagNN;

// One set of weights for DagNNs of different shapes, such as those made from texts: the weight of an edge belongs to
// the pair of symbols at its ends, a bias to its node's symbol. What has no symbols at its ends stays the network's
// own.
//   SymbolWeights shared;
//   for (const std::string text : {"hello", "help"}) {
//     DagNN network = DagNN::from_text(text);
//     shared.tie(network);  // then forward and backward_accumulate, and
//     shared.add_gradients(network);
//   }
//   shared.step(0.1f);
class SymbolWeights {
 public:
  // Sets the network's weights and biases. Pairs and symbols that are met for the first time start with what the
  // network has there; of several in one network the one with the lowest id decides.
  void tie(DagNN& network);
  // Adds what the network's edges and biases got since its zero_grad(), in the order of their ids. A pair or symbol
  // of no tied network is an Error.
  void add_gradients(const DagNN& network);
  void zero_grad();
  void step(float lr);  // plain SGD

  std::size_t num_weights() const { return weights_.size(); }
  std::optional<float> weight(std::uint32_t from, std::uint32_t to) const;  // by code points; empty when never met
  std::optional<float> bias(std::uint32_t symbol) const;

  // Tensors "symbols.*". Gradients are not kept.
  void save(SafetensorsFile& file) const;
  static SymbolWeights load(const SafetensorsFile& file);

 private:
  struct Shared {
    float value = 0, gradient = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Shared> weights_;
  std::map<std::uint32_t, Shared> biases_;
};

// What forward gives: [B][outputs], valid until the next forward in the same mode, and the name of the pass, none in
// evaluation mode.
struct DagOutputs : std::span<const float> {
  ForwardPass pass;
};

class DagNN {
 public:
  explicit DagNN(const DagOptions& options = {});
  ~DagNN();
  DagNN(const DagNN&);
  DagNN& operator=(const DagNN&);
  DagNN(DagNN&&) noexcept;  // what was moved from can be assigned to or destroyed, no more
  DagNN& operator=(DagNN&&) noexcept;

  // --- Building. Ids are never reused; a call that fails changes nothing.
  NodeId add_node(NodeKind kind, Activation activation = Activation::kLinear, float bias = 0);
  EdgeId add_edge(NodeId from, NodeId to, float weight);
  // layered({4, 8, 1}): inputs, hidden layers, outputs.
  static DagNN layered(std::span<const std::size_t> sizes, const LayeredOptions& options = {});
  static DagNN layered(std::initializer_list<std::size_t> sizes, const LayeredOptions& options = {}) {
    return layered(std::span(sizes.begin(), sizes.size()), options);
  }
  // Nodes 0..nodes-1; those without incoming edges are inputs, those without outgoing ones outputs.
  static DagNN from_edges(std::size_t nodes, std::span<const WeightedEdge> edges, Activation hidden,
                          const DagOptions& options = {});
  // One node per code point, chained in order: the first an input, the last an output.
  static DagNN from_text(std::string_view utf8);
  std::string to_text() const;  // code points of the nodes that have one, by id

  // --- Looking.
  const DagTopology& topology() const { return topology_; }
  std::size_t num_inputs() const { return count_nodes(NodeKind::kInput); }
  std::size_t num_outputs() const { return count_nodes(NodeKind::kOutput); }
  const DagOptions& options() const { return options_; }
  float weight(EdgeId edge) const;
  float bias(NodeId node) const;  // 0 for inputs
  void set_weight(EdgeId edge, float value);
  void set_bias(NodeId node, float value);

  // --- Running. Samples are rows [B][inputs]; inputs and outputs are ordered by id.
  // The outputs may be the samples of the next call. NaN and infinite samples are Errors. In training mode what a
  // backward pass needs is kept, of the last forward pass alone; evaluation mode leaves that as it is.
  DagOutputs forward(std::span<const float> samples, std::size_t batch, const ThreadPool& pool = calling_thread());
  DagOutputs forward(std::initializer_list<float> samples, std::size_t batch,
                     const ThreadPool& pool = calling_thread()) {
    return forward(std::span(samples.begin(), samples.size()), batch, pool);
  }

  // --- The training contract.
  void zero_grad(const ThreadPool& pool = calling_thread());
  // Adds the gradients of a forward pass in training mode; output_grad is [B][outputs]. Nothing when not training.
  // Without a name the pass must be clear: an Error when there have been two or more since the last backward pass. With
  // one (DagOutputs::pass) it is an Error when another has followed. Either is an Error when weights or shape have
  // changed since. NaN passes through: a loss that is not finite tells as much.
  void backward_accumulate(std::span<const float> output_grad, const ThreadPool& pool = calling_thread());
  void backward_accumulate(const ForwardPass& pass, std::span<const float> output_grad,
                           const ThreadPool& pool = calling_thread());
  void backward_accumulate(std::initializer_list<float> output_grad, const ThreadPool& pool = calling_thread()) {
    backward_accumulate(std::span(output_grad.begin(), output_grad.size()), pool);
  }
  double reduction_seconds() const;  // what it has taken so far to sum up gradients of samples, for reports
  void step(float lr, const ThreadPool& pool = calling_thread());  // plain SGD
  // The global norm of the gradients of all edges and biases there are.
  double gradient_norm(const ThreadPool& pool = calling_thread()) const;
  double clip_gradients(double max_norm, const ThreadPool& pool = calling_thread());  // the norm before
  // Whether any were added to edges and biases there are since zero_grad(), even if all of them are zero.
  bool has_gradients() const;
  // One per edge and one bias per hidden or output node, edits not yet in effect included.
  std::size_t num_parameters() const;
  void accumulate_edge_grad(NodeId from, NodeId to, float gradient);
  // Empty when there is no such edge, or nothing was added to it since zero_grad().
  std::optional<float> edge_grad(NodeId from, NodeId to) const;
  std::optional<float> bias_grad(NodeId node) const;
  void train(bool on) { training_ = on; }
  bool is_training() const { return training_; }
  // One step with this batch's gradients alone; those added before are lost.
  [[deprecated("use backward_accumulate, step and zero_grad")]] void backward_and_update(
      std::span<const float> output_grad, float lr);

  // Gradient of the last backward with respect to the samples, [B][inputs]; an Error when that was in evaluation mode.
  std::vector<float> input_gradients() const;
  // The samples of the last forward pass in training mode, [B][inputs].
  std::vector<float> samples() const;

  // --- Growth and pruning. Weights, gradients and ids stay with their edges. With fan-in scaling the weights
  // that share a target are rescaled when its fan-in changes, so that what they contribute stays the same.
  NodeId split_edge(EdgeId edge);                // same function: w, then a linear node, then 1
  EdgeId add_shortcut(NodeId from, NodeId to);   // same function: weight 0
  std::size_t prune_below(float threshold);      // edges with |w| < threshold; how many went
  std::size_t prune_percentile(double percent);  // that share of all edges, smallest |w| first
  std::size_t remove_unseen();                   // hidden nodes that no output can see
  void remove_edge(EdgeId edge);
  void remove_node(NodeId node);

  // Named tensors "bias" and "weight" (in the order the kernels read them), and no others: adding one is an Error.
  // Edits take effect at the next call that needs the flat arrays, which moves weights and gradients; call apply_edits
  // with the optimizers before that to move their state too.
  Parameters& parameters();
  const Parameters& parameters() const;  // an Error while edits wait
  void apply_edits(Optimizer* optimizer = nullptr);
  void apply_edits(std::span<Optimizer* const> optimizers);
  // Where an edge's weight and a node's bias are in the flat arrays of parameters(), until the next edit.
  std::size_t weight_index(EdgeId edge);
  std::size_t bias_index(NodeId node);

  // By ids of one's own, e.g. those of a file: any node or edge that is not there may be inserted, then new ones
  // get ids from next_node and next_edge, or higher ones when those are in use.
  void insert_node(NodeId id, NodeKind kind, Activation activation, float bias, std::uint32_t symbol = kNoSymbol);
  void insert_edge(EdgeId id, NodeId from, NodeId to, float weight);
  void reserve_ids(NodeId next_node, EdgeId next_edge);

  // --- Files: tensors "dag.*". Gradients are not kept. The shape alone has ids, kinds, edges and flags; a network made
  // from it has weights and biases of 0.
  void save(SafetensorsFile& file) const;
  static DagNN load(const SafetensorsFile& file);
  void save_shape(SafetensorsFile& file) const;
  static DagNN load_shape(const SafetensorsFile& file);

 private:
  struct State;
  void accumulate(const ForwardPass* pass, std::span<const float> output_grad, const ThreadPool& pool);
  std::vector<float> input_rows(std::span<const float> blocks, const char* op) const;
  // By the id of the edge or node. Places are those in the flat arrays; none for what waits for apply_edits().
  float& value_ref(std::size_t tensor, std::uint32_t id);
  std::optional<std::size_t> place_of(std::size_t tensor, std::uint32_t id) const;
  void check_has_bias(NodeId node) const;
  std::size_t count_nodes(NodeKind kind) const;
  std::optional<float> gradient_at(std::optional<std::size_t> place) const;
  void forget_gradient(std::optional<std::size_t> place);
  void edited();
  void scale_incoming(NodeId node, std::size_t fan_in_before);
  std::size_t remove_edges(const std::vector<EdgeId>& edges);

  DagOptions options_;
  DagTopology topology_;
  Parameters parameters_;
  bool training_ = true;
  std::unique_ptr<State> state_;
};

// ---- On the rows of tables

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;         // all as long as the header
  std::vector<std::size_t> lines;                     // where each row began, from 1
  std::size_t column(const std::string& name) const;  // an Error that lists the names
};
// Commas (semicolons or tabs where the first line has these and no comma), "quoted" cells with "" for a quote, \n or
// \r\n. Errors name the line.
CsvTable parse_csv(std::string_view text, const std::string& what);

// A word that no training row had in that column.
struct UnknownWord {
  std::string column, word;
  std::string nearest;            // of the words that are known; empty when none is near
  std::vector<std::size_t> rows;  // that have it, from 0
};
enum class UnknownWords { kRefuse, kAllow };

// A model that predicts a column of a table from others: what `predict`, `eval` and Python see of one.
class RowModel : public virtual Model {  // a kind may be a circuit as well
 public:
  static constexpr const char* kKind = "table network";  // as Errors name it

  virtual std::vector<std::string> columns() const = 0;         // that a row must have
  virtual const std::string& target() const = 0;                // the column that is predicted
  virtual const std::vector<std::string>& classes() const = 0;  // what it may be, ascending; none: a number
  // Columns are found by name, others ignored. [rows][classes] probabilities; of a number [rows], in its own unit.
  // Words that the model was not trained on are Errors, or count as none of those it knows.
  virtual std::vector<double> predict(const CsvTable& table, const ThreadPool& pool = calling_thread(),
                                      UnknownWords unknown = UnknownWords::kRefuse) const = 0;
  // Against the target's column: score is the fraction of classes right, or R squared.
  virtual Evaluation evaluate(const CsvTable& table, const ThreadPool& pool = calling_thread(),
                              UnknownWords unknown = UnknownWords::kRefuse) const = 0;
  virtual std::vector<UnknownWord> unknown_words(const CsvTable& table) const = 0;  // by column, then word
};

struct TableSchema;  // how columns become numbers, in src/models/dag/table_data.hpp

class TableModel : public RowModel {
 public:
  static constexpr const char* kKind = "table network";
  static constexpr int kLastFormat = 2;

  // An Error when the network has not one input per number of a row and one output per number of a target.
  TableModel(TableSchema schema, DagNN network);
  static std::unique_ptr<TableModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  Parameters& parameters() override { return network_.parameters(); }
  const Parameters& parameters() const override { return network_.parameters(); }
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;

  const TableSchema& schema() const { return *schema_; }
  DagNN& network() { return network_; }
  const DagNN& network() const { return network_; }

  std::vector<std::string> columns() const override;
  const std::string& target() const override;
  const std::vector<std::string>& classes() const override;
  std::vector<double> predict(const CsvTable& table, const ThreadPool& pool = calling_thread(),
                              UnknownWords unknown = UnknownWords::kRefuse) const override;
  Evaluation evaluate(const CsvTable& table, const ThreadPool& pool = calling_thread(),
                      UnknownWords unknown = UnknownWords::kRefuse) const override;
  std::vector<UnknownWord> unknown_words(const CsvTable& table) const override;

 private:
  std::vector<float> inputs_of(const CsvTable& table, UnknownWords unknown) const;

  std::shared_ptr<const TableSchema> schema_;
  DagNN network_;
};

}  // namespace espalier
