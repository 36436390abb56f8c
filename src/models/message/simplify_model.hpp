// The network of the `simplify` task from its configuration, and from a model file.
#pragma once

#include "espalier/safetensors.hpp"
#include "models/message/simplify_data.hpp"
#include "tasks/task.hpp"

namespace espalier {

SimplifyDataOptions simplify_data_options(const Json& config, std::uint64_t seed);
TransformOptions simplify_net_options(const Json& config);

// A trained network with its vocabulary; an Error when the file is of another task.
GraphTransformNet load_simplify_model(const SafetensorsFile& file);
// Whether the model was trained on graphs with shared nodes.
bool simplify_model_shares(const SafetensorsFile& file);

}  // namespace espalier
