// A GraphTransformNet with its vocabulary: the model that the simplify task trains.
#pragma once

#include <memory>

#include "espalier/message_passing.hpp"
#include "espalier/model.hpp"

namespace espalier {

class RewriteModel : public Model {
 public:
  static constexpr const char* kKind = "rewrite network";

  RewriteModel(GraphTransformNet net, bool share) : net_(std::move(net)), share_(share) {}
  static std::unique_ptr<RewriteModel> load(const SafetensorsFile& file, const std::string& name);

  std::string kind() const override { return kKind; }
  Parameters& parameters() override { return net_.parameters(); }
  const Parameters& parameters() const override { return net_.parameters(); }
  void describe(SafetensorsFile& file) const override;
  Facts facts() const override;

  const GraphTransformNet& net() const { return net_; }
  bool share() const { return share_; }  // trained on graphs with one node for equal subexpressions

 private:
  GraphTransformNet net_;
  bool share_;
};

}  // namespace espalier
