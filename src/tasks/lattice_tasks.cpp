// The lattice tasks: the published experiments, each a set of defaults over the same options.
#include "espalier/tasks/lattice_problem.hpp"
#include "tasks/task_makers.hpp"

namespace espalier {
namespace {

struct LatticeDefaults {
  std::string name, summary;
  int channels, height, width, steps, batch, kernels;
  std::string perceive, update, boundary;
  double fire_rate, lr;
  int epochs, eval_every;
  int seed_row, seed_column;
  double start_logit, gumbel_final;
  int seeds;
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
        {"temperature-final", 1.0, "softmax temperature at the end", 1e-3, 1e3, {}},
        {"gumbel", 0.0, "scale of Gumbel noise on the logits at the start", 0, 100, {}},
        {"gumbel-final", d_.gumbel_final, "scale of Gumbel noise at the end", 0, 100, {}},
        {"gumbel-from", 0.0, "progress (0 to 1) from which the noise moves to its scale at the end", 0, 1, {}},
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

constexpr int kNoSeedOption = -2;

}  // namespace

void add_lattice_tasks(TaskList& tasks) {
  const int none = kNoSeedOption;
  // The last three numbers are our recipe (start logit, Gumbel noise at the end, seeds); see docs/experiments.md.
  const LatticeDefaults list[] = {
      {"life",     "learn Conway's Game of Life from examples of single steps",
       1,          3,
       3,          1,
       20,         16,
       "8,4,2,1",  "128x17,64,32,16,8,4,2,1",
       "periodic", 1.0,
       0.05,       3000,
       5,          none,
       none,       6,
       1.5,        1},
      {"checkerboard",
       "grow a checkerboard of 2 x 2 squares out of noise",
       8,
       16,
       16,
       20,
       2,
       16,
       "8,4,2",
       "256x10,128,64,32,16,8,8",
       "zero",
       1.0,
       0.05,
       500,
       2,
       none,
       none,
       10,
       0,
       8},
      {"checkerboard-small",
       "the same with a few hundred gates, for quick tries",
       4,
       8,
       8,
       10,
       4,
       4,
       "8,4,2",
       "32x4,16,8,4",
       "zero",
       1.0,
       0.05,
       1500,
       5,
       none,
       none,
       5,
       0,
       1},
      {"checkerboard-async",
       "the same while cells update at random times",
       8,
       14,
       14,
       50,
       1,
       16,
       "8,4,2",
       "256x14,128,64,32,16,8,8",
       "zero",
       0.6,
       0.05,
       800,
       5,
       none,
       none,
       5,
       0,
       8},
      {"lizard",   "grow the outline of a lizard from one cell",
       128,        20,
       20,         12,
       1,          4,
       "8,4,2,1",  "512x8,256,128",
       "periodic", 1.0,
       0.06,       4000,
       5,          10,
       10,         10,
       1.5,        2},
      {"letter", "grow a letter G in four colours out of nothing",
       64,       16,
       16,       15,
       1,        4,
       "8,4,2",  "512x8,256,128,64",
       "zero",   1.0,
       0.06,     4000,
       5,        -1,
       -1,       10,
       1.5,      4},
      {"pattern", "grow any picture: an ASCII file or a PNG (--target FILE)",
       64,        0,
       0,         15,
       1,         4,
       "8,4,2",   "512x8,256,128,64",
       "zero",    1.0,
       0.06,      4000,
       5,         -1,
       -1,        10,
       1.5,       1},
  };
  for (const LatticeDefaults& defaults : list) tasks.push_back(std::make_unique<LatticeTask>(defaults));
}

}  // namespace espalier
