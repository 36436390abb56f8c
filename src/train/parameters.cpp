#include "espalier/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/arrays.hpp"
#include "base/hash.hpp"
#include "base/rank_bytes.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"
#include "flat_kernels.hpp"

namespace espalier {
namespace {

constexpr std::size_t kReduceChunk = 4096;  // floats of all slots that one worker sums at a time

}  // namespace

std::size_t Parameters::add(std::string name, std::vector<std::size_t> shape) {
  if (!owner_.empty())
    fail("add parameter", fmt::format("\"{}\" in the parameters of {}", name, owner_), "Parameters of its own",
         "its tensors are laid out anew when it changes");
  for (const TensorInfo& t : tensors_)
    if (t.name == name) fail("add parameter", fmt::format("\"{}\" twice", name), "a new name");
  constexpr std::size_t kMaxFloats = std::size_t{1} << 40;
  std::size_t size = 1;
  for (const std::size_t extent : shape) {
    if (extent > 0 && size > kMaxFloats / extent)
      fail("add parameter", fmt::format("\"{}\" of shape [{}]", name, fmt::join(shape, ", ")),
           "a shape that fits memory");
    size *= extent;
  }
  // Memory first: when there is too little of it, nothing has been added.
  const std::size_t offset = values_.size();
  tensors_.reserve(tensors_.size() + 1);
  gradients_.resize(offset + size);
  values_.resize(offset + size);
  tensors_.push_back({std::move(name), std::move(shape), offset, size});
  join_trainable();
  return tensors_.size() - 1;
}

const TensorInfo& Parameters::checked(std::size_t tensor) const {
  if (tensor >= tensors_.size())
    fail("parameters", fmt::format("tensor {}", tensor), fmt::format("one of {}", tensors_.size()));
  return tensors_[tensor];
}

void Parameters::freeze(std::size_t tensor, bool on) {
  checked(tensor);
  tensors_[tensor].frozen = on;
  join_trainable();
}

void Parameters::join_trainable() {
  trainable_.clear();
  for (const TensorInfo& t : tensors_) {
    if (t.frozen || t.size == 0) continue;
    if (!trainable_.empty() && trainable_.back().second == t.offset)
      trainable_.back().second += t.size;
    else
      trainable_.emplace_back(t.offset, t.offset + t.size);
  }
}

std::size_t Parameters::find(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name == name) return i;
    names.push_back(tensors_[i].name);
  }
  fail("find parameter", fmt::format("\"{}\"", name), fmt::format("one of {}", fmt::join(names, ", ")));
}

void Parameters::zero_grad(const ThreadPool& pool) {
  pool.for_chunks(gradients_.size(), kFlatChunk, 0.1,
                  [&](Chunk c) { std::fill(&gradients_[c.begin], &gradients_[c.begin] + (c.end - c.begin), 0.0f); });
}

bool Parameters::has_gradients() const {
  bool any = false;
  for_trainable(0, gradients_.size(), [&](std::size_t begin, std::size_t end) {
    any = any || std::any_of(&gradients_[begin], &gradients_[begin] + (end - begin), [](float g) { return g != 0; });
  });
  return any;
}

double Parameters::gradient_norm(const ThreadPool& pool) const {
  const double squares = pool.reduce(
      gradients_.size(), kFlatChunk, 0.2, 0.0,
      [&](Chunk c) {
        double sum = 0;
        for_trainable(c.begin, c.end, [&](std::size_t begin, std::size_t end) {
          sum += sum_of_squares_kernel(end - begin, &gradients_[begin]);
        });
        return sum;
      },
      [](double& a, const double& b) { a += b; });
  return std::sqrt(squares);
}

double Parameters::finite_gradient_norm(const char* op, const ThreadPool& pool) const {
  const double norm = gradient_norm(pool);  // squares of floats are finite in double
  if (std::isfinite(norm)) return norm;
  for (const TensorInfo& t : tensors_) {
    if (t.frozen) continue;
    const std::span<const float> gradients = std::span(gradients_).subspan(t.offset, t.size);
    const auto bad = std::ranges::find_if(gradients, [](float g) { return !std::isfinite(g); });
    if (bad != gradients.end())
      fail(op, fmt::format("a gradient of {} in \"{}\", element {}", *bad, t.name, bad - gradients.begin()),
           "finite gradients", "no weight has changed; a lower learning rate or smaller inputs may help");
  }
  fail(op, fmt::format("gradients of norm {}", norm), "a finite norm");
}

double Parameters::clip_gradients(double max_norm, const ThreadPool& pool) {
  if (!(max_norm >= 0)) fail("clip gradients", fmt::format("a norm of {}", max_norm), "0 or more");
  const double norm = finite_gradient_norm("clip gradients", pool);
  if (norm > max_norm) {
    const auto scale = static_cast<float>(max_norm / norm);
    pool.for_chunks(gradients_.size(), kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) gradients_[i] *= scale;
    });
  }
  return norm;
}

void Parameters::clip_gradient_values(float limit, const ThreadPool& pool) {
  if (!(limit >= 0)) fail("clip gradient values", fmt::format("a limit of {}", limit), "0 or more");
  finite_gradient_norm("clip gradient values", pool);
  pool.for_chunks(gradients_.size(), kFlatChunk, 0.2, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) gradients_[i] = std::clamp(gradients_[i], -limit, limit);
  });
}

std::string Parameters::hash() const {
  Hasher hasher;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    hasher.add(tensors_[i].name).add(std::string_view("\0", 1));
    const std::size_t rank = tensors_[i].shape.size();
    hasher.add(&rank, sizeof rank).add(std::span<const std::size_t>(tensors_[i].shape));
    hasher.add(values(i));
  }
  return hasher.hex();
}

ForwardPass ForwardPass::next() {
  ForwardPass pass;
  pass.id_ = std::make_shared<const char>();  // an address that is nobody else's while anyone has the name
  return pass;
}

const ForwardPass& LastPass::begin() {
  ++waiting_;
  used_ = false;
  return last_ = ForwardPass::next();
}

void LastPass::check(std::string_view op, std::string_view how) {
  if (last_ && waiting_ == (used_ ? 0u : 1u)) return;
  const std::size_t waiting = std::exchange(waiting_, 0);
  const bool gone = !std::exchange(last_, {});
  if (waiting > 1)
    fail(op, fmt::format("{} forward passes since the last backward pass, and no name", waiting),
         "the name of the forward pass that is meant", how);
  if (gone) fail(op, "no forward pass since the last change", "a forward pass first");
  fail(op, "a forward pass that waits but has been followed by another", "that forward pass again, or a name", how);
}

void LastPass::check(std::string_view op, const ForwardPass& pass) const {
  if (!pass) fail(op, "the name of no forward pass", "that of a forward pass made for training");
  if (pass != last_)
    fail(op, "a forward pass that is no longer the last one", "the last one",
         "it was followed by another or by a change of weights, or is of another network: run it again, then go back");
}

void LastPass::went_back() {
  if (!std::exchange(used_, true)) --waiting_;
}

GradientSlots::GradientSlots(std::size_t slots, std::size_t floats)
    : slots_(slots), floats_(floats), stride_((floats + 15) / 16 * 16) {
  constexpr std::size_t kMaxFloats = std::size_t{1} << 40;
  if (slots == 0 || floats > kMaxFloats || (stride_ > 0 && slots > kMaxFloats / stride_))
    fail("gradient slots", fmt::format("{} slots of {} floats", slots, floats),
         "at least one slot, and 2^40 floats at most");
  data_.resize(slots * stride_);
}

std::span<float> GradientSlots::slot(std::size_t index) {
  if (index >= slots_) fail("gradient slots", fmt::format("slot {}", index), fmt::format("one of {}", slots_));
  return std::span(data_).subspan(index * stride_, floats_);
}

void GradientSlots::zero(const ThreadPool& pool) { zero({0, slots_, 1, false}, pool); }

void GradientSlots::check_share(const Share& share) const {
  if (share.begin > share.end || share.end > slots_ || share.unit == 0)
    fail("gradient slots", fmt::format("slots {} to {} in units of {}", share.begin, share.end, share.unit),
         fmt::format("a part of {}, as share() gives it", slots_));
}

void GradientSlots::check_total(std::span<const float> total) const {
  if (total.size() != floats_)
    fail("add gradient slots", fmt::format("a total of {} floats", total.size()), fmt::format("{}", floats_));
  refuse_overlap("add gradient slots", total, {data_});
}

void GradientSlots::add_to(std::span<float> total, const ThreadPool& pool) const {
  check_total(total);
  const double cost = 0.1 * static_cast<double>(slots_);
  pool.for_chunks(floats_, kReduceChunk, cost, [&](Chunk c) {
    add_tree_kernel(slots_, stride_, c.end - c.begin, &data_[c.begin], &total[c.begin]);
  });
}

// --- Slots over ranks. The nodes of the tree are blocks of 2^k slots that begin at multiples of 2^k, the last ones cut
// short by the number of slots.

namespace {

struct TreeNode {
  std::size_t begin, end;
};

// The fewest nodes that make up [begin, end).
void append_nodes(std::size_t begin, std::size_t end, std::size_t slots, std::vector<TreeNode>& nodes) {
  while (begin < end) {
    std::size_t size = 1;
    while (begin % (2 * size) == 0 && std::min(begin + 2 * size, slots) <= end && begin + size < end) size *= 2;
    nodes.push_back({begin, std::min(begin + size, end)});
    begin = nodes.back().end;
  }
}

}  // namespace

GradientSlots::Share GradientSlots::share(const ThreadPool& pool, std::size_t unit) const {
  if (unit == 0) fail("gradient slots", "units of 0 slots", "1 or more");
  const Ranks* const ranks = pool.ranks();
  if (!ranks || ranks->size() == 1 || slots_ <= unit) return {0, slots_, unit, false};
  const RankShare mine = share_of(slots_, unit, ranks->rank(), ranks->size());
  return {mine.begin, mine.end, unit, true};
}

void GradientSlots::zero(const Share& share, const ThreadPool& pool) {
  check_share(share);
  float* const first = data_.data() + share.begin * stride_;
  pool.for_chunks((share.end - share.begin) * stride_, kReduceChunk * 4, 0.1,
                  [&](Chunk c) { std::fill(first + c.begin, first + c.end, 0.0f); });
}

void GradientSlots::add_shared(std::span<float> total, const Share& share, const ThreadPool& pool) {
  check_share(share);
  if (!share.shared) return add_to(total, pool);
  check_total(total);
  if (!pool.ranks()) fail("add gradient slots", "a pool without ranks", "the one that the slots were shared out with");
  Ranks& ranks = *pool.ranks();
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> starts{0};
  std::size_t mine = 0;
  for (int r = 0; r < ranks.size(); ++r) {
    const RankShare theirs = share_of(slots_, share.unit, r, ranks.size());
    if (r == ranks.rank()) mine = nodes.size();
    append_nodes(theirs.begin, theirs.end, slots_, nodes);
    starts.push_back(nodes.size() * floats_ * sizeof(float));
  }
  AlignedVector<float>& sums = shared_sums_;
  sums.resize(nodes.size() * floats_);
  const double cost = 0.1 * static_cast<double>(share.end - share.begin);
  pool.for_chunks(floats_, kReduceChunk, cost, [&](Chunk c) {
    for (std::size_t n = mine; n < nodes.size() && nodes[n].end <= share.end; ++n) {
      float* const into = &sums[n * floats_ + c.begin];
      std::fill_n(into, c.end - c.begin, -0.0f);  // -0 + x is x, and 0 + x would lose the sign of a zero
      add_tree_kernel(nodes[n].end - nodes[n].begin, stride_, c.end - c.begin,
                      &data_[nodes[n].begin * stride_ + c.begin], into);
    }
  });
  ranks.all_gather(std::as_writable_bytes(std::span(sums)), starts);
  // Neighbours that are twins in the tree meet, and so on, until one is left. The same for all floats: a plan first.
  struct Addition {
    std::size_t into, from;
  };
  std::vector<Addition> plan;
  const auto complete = [&](const auto& self, std::size_t begin, std::size_t end, std::size_t& node) -> std::size_t {
    if (nodes[node].begin == begin && nodes[node].end == end) return node++;
    const std::size_t middle = begin + std::bit_floor(end - begin - 1);
    const std::size_t left = self(self, begin, middle, node), right = self(self, middle, end, node);
    plan.push_back({left, right});
    return left;
  };
  std::size_t node = 0;
  complete(complete, 0, slots_, node);
  pool.for_chunks(floats_, kReduceChunk, 0.1 * static_cast<double>(nodes.size()), [&](Chunk c) {
    const auto add = [&](float* into, const float* from) {
      for (std::size_t i = c.begin; i < c.end; ++i) into[i] += from[i];
    };
    for (const Addition& a : plan) add(&sums[a.into * floats_], &sums[a.from * floats_]);
    add(total.data(), sums.data());
  });
}

void load_parameters(Parameters& parameters, const SafetensorsFile& file) {
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    const TensorInfo& t = parameters.tensors()[i];
    const StoredTensor& stored = file.tensor(t.name);
    if (stored.shape != t.shape)
      fail("load model", fmt::format("shape [{}] for \"{}\"", fmt::join(stored.shape, ", "), t.name),
           fmt::format("[{}]", fmt::join(t.shape, ", ")));
    const std::vector<float> values = file.floats(t.name);
    std::copy(values.begin(), values.end(), parameters.values(i).begin());
    for (const float v : values)
      if (!std::isfinite(v)) fail("load model", fmt::format("{} in \"{}\"", v, t.name), "finite numbers");
  }
}

}  // namespace espalier
