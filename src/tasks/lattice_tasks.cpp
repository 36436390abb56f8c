// The lattice tasks: the published experiments, each a set of defaults over the same options.
#include "models/lattice/lattice_problem.hpp"
#include "tasks/task_makers.hpp"

namespace espalier {
namespace {

constexpr int kNoSeedOption = -2;

struct LatticeDefaults {
  std::string name, summary;
  int channels = 8, height = 0, width = 0, steps = 20, batch = 1;
  int kernels = 16;
  std::string perceive = "8,4,2", update, boundary = "zero";
  double fire_rate = 1, lr = 0.05;
  int seed_row = kNoSeedOption, seed_column = kNoSeedOption;
  // Our recipe; see docs/experiments.md for what each part did.
  int epochs = 500, eval_every = 5, seeds = 1;
  double start_logit = 10, gumbel_final = 0, temperature_final = 1, straight_from = 1;
};

class LatticeTask : public Task {
 public:
  explicit LatticeTask(LatticeDefaults d) : d_(std::move(d)) {}
  std::string name() const override { return d_.name; }
  std::string summary() const override { return d_.summary; }

  std::vector<TaskOption> options() const override {
    std::vector<TaskOption> list{
        // The trainer's options, with the defaults of lattices.
        {"epochs", d_.epochs, {}},
        {"lr", d_.lr, {}},
        {"beta2", 0.99, {}},
        {"weight-decay", 0.01, {}},
        {"clip-value", 100.0, {}},
        {"eval-every", d_.eval_every, {}},
        {"until-solved", true, {}},
        {"seeds", d_.seeds, {}},
        // The automaton.
        {"channels", d_.channels, "channels of a cell", 1, 4096, {}},
        {"kernels", d_.kernels, "perception kernels", 1, 4096, {}},
        {"perceive", d_.perceive, "gates in the layers of a kernel, after its 9 inputs"},
        {"update", d_.update, "gates in the update layers; 256x10 means ten layers of 256"},
        {"wiring", "unique", "how update layers are wired", 0, 0, {"unique", "random"}},
        {"boundary", d_.boundary, "what lies outside the grid", 0, 0, {"periodic", "zero"}},
        // The rollout.
        {"height", d_.height, "rows of the grid", 0, 1e5, {}},
        {"width", d_.width, "columns of the grid", 0, 1e5, {}},
        {"steps", d_.steps, "steps of a rollout", 1, 1e5, {}},
        {"batch", d_.batch, "boards of a mini-batch", 1, 1e6, {}},
        {"fire-rate", d_.fire_rate, "probability that a cell updates in a step; 1 = synchronous", 1e-6, 1, {}},
        // The recipe.
        {"start-logit", d_.start_logit, "logit of gate A at the start; all others are 0", -100, 100, {}},
        {"temperature", 1.0, "softmax temperature at the start", 1e-3, 1e3, {}},
        {"temperature-final", d_.temperature_final, "softmax temperature at the end", 1e-3, 1e3, {}},
        {"gumbel", 0.0, "scale of Gumbel noise on the logits at the start", 0, 100, {}},
        {"gumbel-final", d_.gumbel_final, "scale of Gumbel noise at the end", 0, 100, {}},
        {"gumbel-from", 0.0, "progress (0 to 1) from which the noise moves to its scale at the end", 0, 1, {}},
        {"straight-from",
         d_.straight_from,
         "progress (0 to 1) from which the likeliest gates alone compute and gradients pass straight through",
         0,
         1,
         {}},
        {"freeze-from", 1.0, "progress (0 to 1) from which gates are hardened one after the other", 0, 1, {}},
        {"freeze-to", 1.0, "progress by which all gates are hardened", 0, 1, {}},
        {"freeze-loss", 1e30, "harden gates only while the training loss is below this", 0, 1e30, {}},
        {"reference", false, "train with the plain sequential code (slow; for comparison)"},
    };
    if (d_.name == "pattern") list.push_back({"target", "", "the target: an ASCII pattern or a PNG"});
    if (d_.seed_row >= -1) {
      list.push_back({"seed-row", d_.seed_row, "row of the one living cell at the start; -1 = none", -1, 1e5, {}});
      list.push_back({"seed-column", d_.seed_column, "its column", -1, 1e5, {}});
    }
    return list;
  }

  std::unique_ptr<Objective> make(const Json& config, std::uint64_t seed) const override {
    return std::make_unique<LatticeObjective>(make_lattice_problem(config, seed), seed);
  }

 private:
  LatticeDefaults d_;
};

}  // namespace

void add_lattice_tasks(TaskList& tasks) {
  const LatticeDefaults list[] = {
      {.name = "life",
       .summary = "learn Conway's Game of Life from examples of single steps",
       .channels = 1,
       .height = 3,
       .width = 3,
       .steps = 1,
       .batch = 20,
       .perceive = "8,4,2,1",
       .update = "128x17,64,32,16,8,4,2,1",
       .boundary = "periodic",
       .epochs = 3000,
       .start_logit = 6,
       .gumbel_final = 1.5},
      {.name = "checkerboard",
       .summary = "grow a checkerboard of 2 x 2 squares out of noise",
       .height = 16,
       .width = 16,
       .batch = 2,
       .update = "256x10,128,64,32,16,8,8",
       .eval_every = 2,
       .seeds = 8},
      {.name = "checkerboard-small",
       .summary = "the same with a few hundred gates, for quick tries",
       .channels = 4,
       .height = 8,
       .width = 8,
       .steps = 10,
       .batch = 4,
       .kernels = 4,
       .update = "32x4,16,8,4",
       .epochs = 1500,
       .start_logit = 5},
      {.name = "checkerboard-async",
       .summary = "the same while cells update at random times",
       .height = 14,
       .width = 14,
       .steps = 50,
       .update = "256x14,128,64,32,16,8,8",
       .fire_rate = 0.6,
       .epochs = 800,
       .seeds = 8,
       .start_logit = 5},
      {.name = "lizard",
       .summary = "grow the outline of a lizard from one cell",
       .channels = 128,
       .height = 20,
       .width = 20,
       .steps = 12,
       .kernels = 4,
       .perceive = "8,4,2,1",
       .update = "512x8,256,128",
       .boundary = "periodic",
       .lr = 0.06,
       .seed_row = 10,
       .seed_column = 10,
       .epochs = 4000,
       .seeds = 2,
       .gumbel_final = 1,
       .temperature_final = 0.4,
       .straight_from = 0.85},
      {.name = "letter",
       .summary = "grow a letter G in four colours out of nothing",
       .channels = 64,
       .height = 16,
       .width = 16,
       .steps = 15,
       .kernels = 4,
       .update = "512x8,256,128,64",
       .lr = 0.06,
       .seed_row = -1,
       .seed_column = -1,
       .epochs = 4000,
       .seeds = 4,
       .gumbel_final = 1.5},
      {.name = "pattern",
       .summary = "grow any picture: an ASCII file or a PNG (--target FILE)",
       .channels = 64,
       .steps = 15,
       .kernels = 4,
       .update = "512x8,256,128,64",
       .lr = 0.06,
       .seed_row = -1,
       .seed_column = -1,
       .epochs = 4000,
       .gumbel_final = 1,
       .temperature_final = 0.4,
       .straight_from = 0.85},
  };
  for (const LatticeDefaults& defaults : list) tasks.push_back(std::make_unique<LatticeTask>(defaults));
}

}  // namespace espalier
