#include "models/lattice/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plot.hpp"
#include "espalier/error.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {

std::vector<DivergenceRow> divergence(const LatticeModel& model, int boards, const ThreadPool& pool) {
  if (boards < 1) fail("divergence", fmt::format("{} boards", boards), "at least 1");
  if (model.is_refined())
    fail("divergence", "a circuit that no weights made", "a model with soft gates", "train it by gradients");
  const RolloutOptions& r = model.rollout();
  const LatticeData data = model.goal().data(r, model.channels(), model.seed());
  const int count = std::min(boards, static_cast<int>(data.validation.boards()));
  const int channels = model.channels(), visible = model.goal().loss_channels();
  const SimulatorOptions options{.periodic = model.periodic(), .fire_rate = r.fire_rate, .seed = model.seed()};
  std::vector<DivergenceRow> rows(static_cast<std::size_t>(r.steps) + 1);
  for (int n = 0; n < count; ++n) {
    const BoardState start = state_of(data.validation.board(static_cast<std::size_t>(n)));
    const auto soft = make_stepper(model, start, options, true), hard = make_stepper(model, start, options, false);
    for (int t = 0; t <= r.steps; ++t) {
      if (t > 0) {
        soft->advance(1, pool);
        hard->advance(1, pool);
      }
      DivergenceRow& row = rows[static_cast<std::size_t>(t)];
      row.step = t;
      const BoardState s = soft->state(), h = hard->state();
      for (int c = 0; c < channels; ++c)
        for (int y = 0; y < r.height; ++y)
          for (int x = 0; x < r.width; ++x) {
            const double a = s.at(c, y, x), b = h.at(c, y, x), apart = std::fabs(a - b);
            row.difference += apart;
            row.largest = std::max(row.largest, apart);
            row.other_bits += (a > 0.5) != (b > 0.5);
            if (c >= visible) continue;
            const double wanted = data.validation_target.get(n, y, x, c);
            row.visible += apart;
            row.soft_distance += (a - wanted) * (a - wanted);
            row.hard_distance += (b > 0.5) != (wanted > 0.5);
          }
    }
  }
  const double cells = static_cast<double>(count) * r.height * r.width;
  for (DivergenceRow& row : rows) {
    row.difference /= cells * channels;
    row.other_bits /= cells * channels;
    row.visible /= cells * visible;
    row.soft_distance /= count;
    row.hard_distance /= count;
  }
  return rows;
}

std::string divergence_picture(const std::vector<DivergenceRow>& rows, const std::string& title) {
  Series all{"all channels", {}, {}}, visible{"visible channels", {}, {}}, bits{"bits that round differently", {}, {}};
  for (const DivergenceRow& row : rows) {
    for (Series* series : {&all, &visible, &bits}) series->x.push_back(row.step);
    all.y.push_back(row.difference);
    visible.y.push_back(row.visible);
    bits.y.push_back(row.other_bits);
  }
  return line_chart({all, visible, bits},
                    {.title = title, .x_label = "step", .y_label = "mean distance of soft from hard"});
}

}  // namespace espalier
