#include "models/message/rewrite_model.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "models/message/simplify_objective.hpp"

namespace espalier {
namespace {

// What a file needs to know of the options, by the names of their fields.
constexpr const char* kStored[] = {"features", "layers", "aggregation", "norm", "activation", "share"};

}  // namespace

std::unique_ptr<RewriteModel> RewriteModel::load(const SafetensorsFile& file, const std::string& name) {
  const nlohmann::json labels = parse_json(file.meta("vocabulary"), name);
  std::vector<std::string> words;
  if (labels.is_array())
    for (const nlohmann::json& label : labels)
      if (label.is_string()) words.push_back(label.get<std::string>());
  if (words.empty() || words.size() != labels.size())
    fail("rewrite model", "a vocabulary that is not a list of labels", "a JSON array of texts");
  SimplifyTaskOptions options;
  Fields fields = fields_of(options);
  const bool old = !file.metadata.contains("option.features");
  const nlohmann::json config = old ? parse_json(file.meta("config"), name) : nlohmann::json::object();
  for (const char* key : kStored) {
    Field& field = fields.at(key);
    if (!old)
      field.set_text(file.meta(std::string("option.") + key));
    else if (const auto value = config.find(key); value != config.end())
      field.set_text(value->is_string() ? value->get<std::string>() : value->dump());
  }
  GraphTransformNet net(Vocabulary(std::move(words)), options.net, 0);
  load_parameters(net.parameters(), file);
  return std::make_unique<RewriteModel>(std::move(net), options.data.share);
}

void RewriteModel::describe(SafetensorsFile& file) const {
  file.metadata["vocabulary"] = nlohmann::json(net_.words().labels()).dump();
  SimplifyTaskOptions options;
  options.net = net_.options();
  options.data.share = share_;
  Fields fields = fields_of(options);
  for (const char* key : kStored) file.metadata[std::string("option.") + key] = fields.at(key).text();
}

Facts RewriteModel::facts() const {
  return {{"labels", static_cast<std::int64_t>(net_.words().size())},
          {"features", static_cast<std::int64_t>(net_.options().features)},
          {"layers", static_cast<std::int64_t>(net_.options().layers)}};
}

}  // namespace espalier
