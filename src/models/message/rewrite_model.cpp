// RewriteModel: what it makes of expressions, and its file.

#include <fmt/format.h>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "models/message/rewrite.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

// The network's options and `share` as a file has them: "option.NAME", each a text.
struct StoredOptions {
  TransformOptions net;
  bool share = false;

  Fields fields() {
    Fields f = fields_of(net);
    f.add("share", share, "one node for equal subexpressions");
    return f;
  }
};

std::string key_of(const Field& field) { return "option." + field.name(); }

Vocabulary vocabulary_from(const std::string& text, const std::string& name) {
  const Json labels = parse_json(text, fmt::format("the vocabulary of {}", name));
  std::vector<std::string> words;
  if (labels.is_array())
    for (const Json& label : labels)
      if (label.is_string()) words.push_back(label.get<std::string>());
  if (words.empty() || words.size() != labels.size())
    fail("rewrite model", fmt::format("a vocabulary in {} that is not a list of labels", name),
         "a JSON array of texts");
  return Vocabulary(std::move(words));
}

}  // namespace

std::unique_ptr<RewriteModel> RewriteModel::load(const SafetensorsFile& file, const std::string& name) {
  Vocabulary words = vocabulary_from(file.meta("vocabulary"), name);
  StoredOptions options;
  Fields fields = options.fields();
  for (Field& field : fields.list()) field.set_text(file.meta(key_of(field)));
  GraphTransformNet net = make_rewrite_net(std::move(words), options.net, 0);
  load_parameters(net.parameters(), file);
  return std::make_unique<RewriteModel>(std::move(net), options.share);
}

void RewriteModel::describe(SafetensorsFile& file) const {
  file.metadata["vocabulary"] = Json(net_.words().labels()).dump();
  StoredOptions options{net_.options(), share_};
  Fields fields = options.fields();
  for (const Field& field : fields.list()) file.metadata[key_of(field)] = field.text();
}

Facts RewriteModel::facts() const {
  return {{"labels", static_cast<std::int64_t>(net_.words().size())},
          {"features", static_cast<std::int64_t>(net_.options().features)},
          {"layers", static_cast<std::int64_t>(net_.options().layers)}};
}

RewriteModel::Rewriting RewriteModel::rewrite(const std::string& expression, std::size_t max_passes) const {
  const RewritePasses made = espalier::rewrite(net_, parse_expression(expression), max_passes, share_);
  Rewriting rewriting{{}, made.settled, to_dot(made.passes)};
  for (const Expression& e : made.passes) rewriting.passes.push_back(to_text(e));
  return rewriting;
}

std::string RewriteModel::exact(const std::string& expression) const {
  return to_text(normal_form(parse_expression(expression), net_.words()));
}

}  // namespace espalier
