// Networks whose parameters are shared across many graphs: an embedding of symbols, layers of message passing over R
// kinds of edges, and GraphTransformNet, which puts them together and says something about every node of any labelled
// graph. RewriteModel is one that rewrites expressions: what the simplify task trains.
//
// Pools come last and may be left out: then the calling thread does the work. Results are the same bits for any pool.
// Example:
//   const LabelledGraph ring{.labels = {"C", "C", "O"}, .edges = {{0, 1, "-"}, {1, 2, "-"}, {2, 0, "="}}};
//   GraphTransformNet net(Vocabulary({"C", "O"}), Vocabulary({"-", "="}), 2, {.features = 8, .layers = 2}, 1);
//   const TransformBatch batch = net.batch(std::span(&ring, 1));
//   const std::vector<std::uint32_t> right{0, 0, 1};  // what to learn: one number below 2 for every node
//   TransformState state;
//   for (int step = 0; step < 100; ++step) {
//     net.zero_grad();
//     net.loss_and_gradients(batch, right, 1.0 / 3, state, net.parameters().gradients());
//     net.step(0.1f);
//   }
//   const std::vector<std::uint32_t> said = net.predict_edits(batch, state);
//   const auto model = load_model_as<RewriteModel>("runs/simplify");
//   for (const std::string& text : model->rewrite("(+ (* x 1) 0)").passes) std::printf("%s\n", text.c_str());
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/graph.hpp"
#include "espalier/model.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// V rows of D numbers, one row per symbol. A description and a place in a Parameters object, which is handed in.
class Embedding {
 public:
  // Adds the tensor `name` [rows][features].
  Embedding(Parameters& parameters, const std::string& name, std::size_t rows, std::size_t features);

  std::size_t rows() const { return rows_; }
  std::size_t features() const { return features_; }
  void initialize(Parameters& parameters, std::uint64_t seed) const;  // standard normal
  // Below, Parameters without the rows of this embedding are Errors, as are results that overlap what is read. Numbers
  // may be anything: NaN goes where it is added.

  // out [symbols][features]. A symbol outside 0..rows-1 is an Error.
  void lookup(const Parameters& parameters, std::span<const std::uint32_t> symbols, std::span<float> out,
              const ThreadPool& pool = calling_thread()) const;
  // gradients (laid out as parameters.gradients()) += dout [symbols][features]; what one row gets is added in ascending
  // order of the places it was used. Nothing when frozen. The symbols name the lookup: nothing else of it is needed, so
  // any number of lookups may be gone back through in any order.
  void backward(const Parameters& parameters, std::span<const std::uint32_t> symbols, std::span<const float> dout,
                std::span<float> gradients, const ThreadPool& pool = calling_thread()) const;
  // One call for rows that are the inputs of a DagNN, `symbols` being those of its last forward, sample by sample: adds
  // the gradients of the network and, from what reached its inputs, those of the rows. Symbols whose rows are not the
  // samples of that forward are an Error.
  template <class Network>
  void backward_through(Network& network, std::span<const float> output_grad, Parameters& parameters,
                        std::span<const std::uint32_t> symbols, const ThreadPool& pool = calling_thread()) const {
    if (network.is_training()) check_rows(parameters, symbols, network.samples());
    network.backward_accumulate(output_grad, pool);
    if (network.is_training()) backward(parameters, symbols, network.input_gradients(), parameters.gradients(), pool);
  }

  // Frozen rows stay as they are, whatever optimizer steps over the parameters: see Parameters::freeze.
  void freeze(Parameters& parameters, bool on) const;
  bool frozen(const Parameters& parameters) const;
  void zero_grad(Parameters& parameters, const ThreadPool& pool = calling_thread()) const;
  // Plain SGD; nothing when frozen.
  void step(Parameters& parameters, float lr, const ThreadPool& pool = calling_thread()) const;

  // The row of a Unicode code point: the 32-bit finalizer of MurmurHash3 (x ^= x >> 16; x *= 0x85ebca6b;
  // x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16), then the top bits by (x * rows) >> 32. Any Unicode works;
  // code points may share a row.
  static std::uint32_t row_of_code_point(std::uint32_t code_point, std::size_t rows);

 private:
  void check_own(const Parameters& parameters) const;
  void check(std::size_t parameters, std::span<const std::uint32_t> symbols, std::size_t floats) const;
  void check_rows(const Parameters& parameters, std::span<const std::uint32_t> symbols,
                  std::span<const float> samples) const;

  std::size_t rows_, features_, tensor_, offset_;
};

// A graph as message passing wants it: R relations (kinds of edges) over the same nodes, each with its neighbour
// lists both ways, and the work cut into chunks of about equal cost. Built once, used by every layer.
class MessageGraph {
 public:
  // One way of one relation: side 2r gathers from sources (u -> v), side 2r+1 from targets (v -> w).
  struct Side {
    std::span<const std::uint32_t> offsets, list;  // [N+1], [E]
    std::vector<float> inverse_degree;             // [N]; 0 without neighbours
    // Nodes with more neighbours than one piece holds: their lists are worked on in pieces, in parallel.
    std::vector<std::uint32_t> heavy;  // ascending
  };

  explicit MessageGraph(std::vector<Graph> relations);
  MessageGraph(const MessageGraph& other) : MessageGraph(other.relations_) {}  // sides look into their own relations
  MessageGraph& operator=(const MessageGraph& other) { return *this = MessageGraph(other); }
  MessageGraph(MessageGraph&&) = default;
  MessageGraph& operator=(MessageGraph&&) = default;

  std::size_t num_nodes() const { return nodes_; }
  std::size_t num_relations() const { return relations_.size(); }
  std::size_t num_edges() const;
  const std::vector<Graph>& relations() const { return relations_; }
  const std::vector<Side>& sides() const { return sides_; }  // [2R]
  std::uint64_t seal() const { return seal_; }               // a hash: other graphs have another one
  // Rows chunk_starts()[i] .. [i+1]: at most kRows of them and about kChunkEdges neighbours.
  const std::vector<std::uint32_t>& chunk_starts() const { return chunk_starts_; }
  std::size_t num_chunks() const { return chunk_starts_.size() - 1; }
  // Chunks are dealt to this many private gradient arrays, in runs of chunks_per_slot.
  std::size_t num_slots() const { return slots_; }
  std::size_t chunks_per_slot() const { return chunks_per_slot_; }

  static constexpr std::size_t kRows = 64;
  static constexpr std::size_t kChunkEdges = 4096;
  static constexpr std::size_t kPiece = 1024;
  static constexpr std::size_t kMaxSlots = 32;

 private:
  std::size_t nodes_ = 0, slots_ = 0, chunks_per_slot_ = 1;
  std::uint64_t seal_ = 0;
  std::vector<Graph> relations_;
  std::vector<Side> sides_;
  std::vector<std::uint32_t> chunk_starts_;
};

enum class Aggregation : std::uint8_t { kMean = 0, kSum = 1, kMax = 2 };
Aggregation aggregation_named(std::string_view name);  // "mean", "sum", "max"

struct MessagePassingOptions {
  std::size_t in = 0, out = 0;  // features
  std::size_t relations = 1;
  Aggregation aggregation = Aggregation::kMean;
  bool layer_norm = false;
  Activation activation = Activation::kRelu;  // linear, relu, leaky relu or tanh
  bool operator==(const MessagePassingOptions&) const = default;
};
inline constexpr float kLayerNormEpsilon = 1e-5f;

// What one forward_batch leaves for its backward, and room to work in. As many may be alive as there are passes to go
// back through: a layer that is applied twice needs two. A tape may be used for one pass after the other.
struct MessageTape {
  // Seals of what the pass was made with: its graph, its weights, h and y by chunk. No features: there was no pass.
  MessagePassingOptions options = {};
  std::size_t offset = 0;  // of the layer
  std::uint64_t graph = 0, weights = 0;
  std::vector<std::uint64_t> rows;                         // [chunks]
  AlignedVector<float> normed, inverse_deviation;          // [N][out] and [N], with layer norm
  AlignedVector<float> maxima;                             // [2R][N][in], with max
  AlignedVector<std::uint32_t> winners;                    // [2R][N][in], with max: who is the largest
  AlignedVector<float> packed, dz, routed, pieces, heavy;  // scratch
  AlignedVector<std::uint32_t> piece_winners;              // scratch
  std::optional<GradientSlots> slots;
};

// One layer of message passing over R kinds of edges (R = 1 is the plain layer):
//   h'_v = act(norm(W_self h_v + sum_r (W_in^r agg_{u->v} h_u + W_out^r agg_{v->w} h_w) + b))
// agg is mean, sum or max over the edges of kind r; norm is layer norm or nothing.
// A layer is a description and places in a Parameters object: many threads may use one layer at once, each with
// its own tape and gradients.
// NaN passes through: to look for it would be one more pass over memory, and a loss that is not finite tells as much.
class MessagePassingLayer {
 public:
  // Adds the tensors name.self [in][out], name.in and name.out [R][in][out], name.bias [out], and with layer
  // norm name.gain and name.shift [out].
  MessagePassingLayer(Parameters& parameters, const std::string& name, const MessagePassingOptions& options);

  const MessagePassingOptions& options() const { return options_; }
  // Weights normal with variance gain/(in (1 + 2R)), biases 0, gains 1.
  void initialize(Parameters& parameters, std::uint64_t seed) const;

  // One node by the formula, in plain loops: the readable reference. h [N][in], out [out], which must not overlap.
  void forward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h, std::size_t node,
               std::span<float> out) const;

  // All nodes: h [N][in] -> y [N][out]. Reads h only, writes every row of y once; h and y must not overlap.
  void forward_batch(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                     std::span<float> y, MessageTape& tape, const ThreadPool& pool = calling_thread()) const;

  // Back through the forward_batch that filled the tape: adds the layer's gradients to `gradients` (laid out as
  // parameters.gradients()) and, unless dh is empty, writes dh [N][in]; neither may overlap the others. Anything else
  // than that pass had is an Error: another graph, other numbers in h or y, weights that have changed.
  void backward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                std::span<const float> y, std::span<const float> dy, MessageTape& tape, std::span<float> gradients,
                std::span<float> dh, const ThreadPool& pool = calling_thread()) const;

  void zero_grad(Parameters& parameters, const ThreadPool& pool = calling_thread()) const;  // this layer's tensors
  // Plain SGD on them.
  void step(Parameters& parameters, float lr, const ThreadPool& pool = calling_thread()) const;

 private:
  void check_own(const Parameters& parameters) const;  // an Error when the layer's tensors are not there
  void check(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
             std::size_t y_size) const;
  const float* panel(const Parameters& parameters, std::size_t index) const;  // self, then the sides
  double chunk_ns(const MessageGraph& graph) const;                           // a rough cost
  // The passes without the seals, for whoever goes back at once.
  void run_forward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                   std::span<float> y, MessageTape& tape, const ThreadPool& pool) const;
  void run_backward(const Parameters& parameters, const MessageGraph& graph, std::span<const float> h,
                    std::span<const float> y, std::span<const float> dy, MessageTape& tape, std::span<float> gradients,
                    std::span<float> dh, const ThreadPool& pool) const;
  friend class GraphTransformNet;

  MessagePassingOptions options_;
  std::size_t first_offset_ = 0, self_, in_, out_, bias_, gain_ = 0, shift_ = 0, size_ = 0;
};

// The labels that a model knows, by number. Their order is part of the model file.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::vector<std::string> labels);  // a label given twice is an Error

  std::size_t size() const { return labels_.size(); }
  const std::vector<std::string>& labels() const { return labels_; }
  const std::string& label(std::size_t number) const;  // an Error beyond the last
  bool knows(const std::string& label) const { return numbers_.contains(label); }
  std::uint32_t number(const std::string& label) const;  // an Error that lists the known ones

 private:
  std::vector<std::string> labels_;
  std::map<std::string, std::uint32_t> numbers_;
};

struct TransformOptions {
  std::size_t features = 48;
  std::size_t layers = 3;  // how far a node sees
  Aggregation aggregation = Aggregation::kMean;
  bool layer_norm = true;
  Activation activation = Activation::kRelu;
};
Fields fields_of(TransformOptions& options);

// A graph with its labels looked up, ready to be batched again and again.
struct NumberedGraph {
  struct Arc {
    std::uint32_t from, to, relation;
  };
  std::vector<std::uint32_t> symbols;  // [N]
  std::vector<Arc> edges;
  std::uint64_t labels = 0;  // a hash of the vocabularies that the numbers are of
};

// Many graphs side by side as one.
struct TransformBatch {
  std::vector<std::uint32_t> symbols;     // [N]
  std::vector<std::uint32_t> first_node;  // [graphs + 1]
  MessageGraph graph;                     // R relations
  std::uint64_t labels = 0;               // as in NumberedGraph
};

// Activations of one batch; reused from call to call, one per thread.
struct TransformState {
  std::vector<AlignedVector<float>> hidden;          // [layers + 1] of [N][features]
  std::vector<AlignedVector<float>> outputs;         // [layers], before the residual is added
  std::vector<MessageTape> tapes;                    // [layers]
  AlignedVector<float> logits, packed, dh, dh_next;  // [N][edits], ..., [N][features]
  double forward_seconds = 0, backward_seconds = 0;  // of the last loss_and_gradients
};

// Embedding of the node labels -> L message-passing layers over one relation per edge label, each added to what it
// got (residual) -> one logit per edit and node. What an edit means is up to the user: a class, a new label, a rule.
class GraphTransformNet {
 public:
  GraphTransformNet(Vocabulary node_labels, Vocabulary edge_labels, std::size_t num_edits,
                    const TransformOptions& options, std::uint64_t seed);

  const Vocabulary& words() const { return words_; }  // of nodes
  const Vocabulary& edge_labels() const { return edge_labels_; }
  const TransformOptions& options() const { return options_; }
  std::size_t num_edits() const { return num_edits_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  const Embedding& embedding() const { return embedding_; }
  std::uint64_t labels() const { return labels_; }  // a hash of both vocabularies, in their order

  // Labels outside the vocabularies are Errors. The edges of an undirected graph go both ways. What another net made
  // can be used where its vocabularies are the same, and is an Error elsewhere, here and below.
  NumberedGraph number(const LabelledGraph& graph) const;
  TransformBatch batch(std::span<const LabelledGraph> graphs) const;
  TransformBatch batch(std::span<const NumberedGraph* const> graphs) const;

  // The last hidden features, [N][features]; they stay in the state until its next use.
  std::span<const float> encode(const TransformBatch& batch, TransformState& state,
                                const ThreadPool& pool = calling_thread()) const;
  // The likeliest edit of every node; the lower number wins a tie.
  std::vector<std::uint32_t> predict_edits(const TransformBatch& batch, TransformState& state,
                                           const ThreadPool& pool = calling_thread()) const;
  // Cross-entropy over nodes, summed and times `scale`; edits [N] are the right ones.
  double loss(const TransformBatch& batch, std::span<const std::uint32_t> edits, double scale, TransformState& state,
              const ThreadPool& pool = calling_thread()) const;
  // The same; its gradients are added to `gradients`, laid out as parameters().gradients().
  double loss_and_gradients(const TransformBatch& batch, std::span<const std::uint32_t> edits, double scale,
                            TransformState& state, std::span<float> gradients,
                            const ThreadPool& pool = calling_thread()) const;

  void zero_grad(const ThreadPool& pool = calling_thread()) { parameters_.zero_grad(pool); }
  void step(float lr, const ThreadPool& pool = calling_thread());  // plain SGD

 private:
  void check_labels(std::uint64_t labels) const;
  double softmax(std::span<const std::uint32_t> edits, double scale, TransformState& state, bool gradients) const;
  void head(const TransformBatch& batch, TransformState& state, const ThreadPool& pool) const;

  Vocabulary words_, edge_labels_;
  std::size_t num_edits_;
  TransformOptions options_;
  Parameters parameters_;
  Embedding embedding_;
  std::vector<MessagePassingLayer> layers_;
  std::size_t head_weight_, head_bias_;  // offsets
  std::uint64_t labels_ = 0;             // a hash of both vocabularies
};

// A GraphTransformNet whose edits rewrite arithmetic expressions, in prefix form: "(+ (* x 1) 0)".
class RewriteModel : public Model {
 public:
  static constexpr const char* kKind = "rewrite network";
  static constexpr int kLastFormat = 2;

  RewriteModel(GraphTransformNet net, bool share) : net_(std::move(net)), share_(share) {}
  static std::unique_ptr<RewriteModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  Parameters& parameters() override { return net_.parameters(); }
  const Parameters& parameters() const override { return net_.parameters(); }
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;

  const GraphTransformNet& net() const { return net_; }
  bool share() const { return share_; }  // trained on graphs with one node for equal subexpressions

  // Until nothing changes: the expression after each pass, the first being what was given. An empty text: nothing left.
  struct Rewriting {
    std::vector<std::string> passes;
    bool settled = false;  // the last pass changed nothing
    std::string dot;       // all passes as one graph for Graphviz
  };
  Rewriting rewrite(const std::string& expression, std::size_t max_passes = 100) const;
  std::string exact(const std::string& expression) const;  // what the rules that it learned make of it

 private:
  GraphTransformNet net_;
  bool share_;
};

}  // namespace espalier
