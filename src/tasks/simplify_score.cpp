#include <algorithm>

#include "tasks/simplify_objective.hpp"

namespace espalier {

SimplifyScore score_rewrites(std::span<const Expression> inputs, std::span<const GraphTransformNet::Rewritten> outputs,
                             const Vocabulary& words, const Pool&) {
  SimplifyScore score;
  const auto count = static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    score.one_pass += (to_text(outputs[i].once) == to_text(simplify_pass(inputs[i], words))) / count;
    score.fixed_point += (to_text(outputs[i].last) == to_text(normal_form(inputs[i], words))) / count;
  }
  return score;
}

}  // namespace espalier
