// The rooms of models, tasks and runs: settings of any text, files that are no models, calls in any order.
#include <array>
#include <memory>

#include "espalier/model.hpp"
#include "espalier/run.hpp"
#include "fuzz/api.hpp"

namespace espalier::fuzz {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Tasks that need no file, small enough to be made and trained in a moment.
RunConfig small_config(Choices& c) {
  static const std::array<std::pair<const char*, Settings>, 3> kSmall{{{"checkerboard-small",
                                                                        {{"channels", "2"},
                                                                         {"kernels", "1"},
                                                                         {"update", "8,4,2"},
                                                                         {"height", "4"},
                                                                         {"width", "4"},
                                                                         {"steps", "2"},
                                                                         {"batch", "1"},
                                                                         {"train-steps", "2"}}},
                                                                       {"life",
                                                                        {{"kernels", "1"},
                                                                         {"wiring", "random"},
                                                                         {"update", "8,4,2,1"},
                                                                         {"batch", "1"},
                                                                         {"train-steps", "1"},
                                                                         {"refine", "0"}}},
                                                                       {"simplify",
                                                                        {{"train-examples", "12"},
                                                                         {"validation-examples", "4"},
                                                                         {"test-examples", "0"},
                                                                         {"deep-examples", "0"},
                                                                         {"depth", "2"},
                                                                         {"features", "4"},
                                                                         {"layers", "1"},
                                                                         {"batch-size", "4"},
                                                                         {"train-steps", "2"}}}}};
  const auto& [task, settings] = kSmall[c.below(kSmall.size())];
  return configure(task, settings);
}

// Short words: none of them is a large size.
void change_settings(Choices& c, RunConfig& config, std::size_t most) {
  static constexpr const char* kValues[] = {"0",  "1", "-1",  "2",   "3",   "nan",      "true", "no",
                                            "",   " ", "x",   "2,1", "8,,", "periodic", "zero", "0.5",
                                            "1e", "4", "0x1", "max", "sgd", "\xff",     "mean", "random"};
  std::vector<std::string> names;
  const Fields fields = config.fields();
  for (const Field& field : fields.list()) names.push_back(field.name());
  for (std::size_t n = c.below(most); n > 0; --n)
    attempt([&] { config.set(names[c.below(names.size())], kValues[c.below(std::size(kValues))]); });
}

}  // namespace

void api_models(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 4)
    attempt([&] {
      const std::unique_ptr<Objective> objective = small_config(c).make_objective();
      const std::unique_ptr<Model> model = objective->snapshot(objective->parameters().values(), objective->state());
      model->facts();
      SafetensorsFile file = model_file(*model, {{"score", "1"}});
      const LoadedModel again = load_model(file, "ours");
      if (again.model->parameters().hash() != model->parameters().hash()) throw std::logic_error("a round trip");
      // A file that lacks something, has something else in a place, or another number in one.
      for (std::size_t n = 1 + c.below(3); n > 0; --n) {
        if (c.below(2) && !file.metadata.empty()) {
          auto at = std::next(file.metadata.begin(), static_cast<std::ptrdiff_t>(c.below(file.metadata.size())));
          static constexpr const char* kTexts[] = {"",      "0",          "-1",   "{}", "[]",
                                                   "[[0]]", "9999999999", "\xff", "x",  "null"};
          if (c.below(3))
            at->second = kTexts[c.below(std::size(kTexts))];
          else
            file.metadata.erase(at);
        } else if (!file.tensors.empty()) {
          auto at = std::next(file.tensors.begin(), static_cast<std::ptrdiff_t>(c.below(file.tensors.size())));
          switch (c.below(3)) {
            case 0: file.tensors.erase(at); break;
            case 1: at->second.shape = {c.below(4), c.below(4)}; break;
            default:
              if (!at->second.bytes.empty())
                at->second.bytes[c.below(at->second.bytes.size())] = static_cast<std::byte>(c.below(256));
          }
        }
        attempt([&] { load_model(file, "changed").model->facts(); });
      }
      attempt([&] { load_model(c.below(2) ? std::string(c.below(256) * 40, 'a') : "/no/such/model"); });
    });
}

void api_tasks(std::span<const std::byte> bytes) {
  Choices c(bytes);
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 6)
    attempt([&] {
      RunConfig config = small_config(c);
      change_settings(c, config, 4);
      const std::unique_ptr<Objective> objective = config.make_objective();
      const ThreadPool& pool = calling_thread();
      PhaseSeconds phases;
      objective->begin_step(c.below(3), 0.5);
      objective->parameters().zero_grad();
      objective->accumulate(c.below(5), pool, phases);
      const Evaluation evaluation = objective->evaluate(pool);
      objective->score_text(evaluation);
      attempt([&] {
        const AlignedVector<float> weights = c.floats(c.size(objective->parameters().num_parameters()));
        objective->report(*objective->snapshot(weights, objective->state()), pool);
      });
      attempt([&] { objective->restore_state(c.below(2) ? SafetensorsFile() : objective->state()); });
      attempt([&] { find_task(c.below(2) ? "lif" : std::string(c.below(9), 'x')); });
    });
}

void api_runs(std::span<const std::byte> bytes) {
  Choices c(bytes);
  const std::vector<Task>& tasks = all_tasks();
  std::size_t rounds = 0;
  while (c.more() && ++rounds < 6) {
    attempt([&] {
      RunConfig config(tasks[c.below(tasks.size())]);
      change_settings(c, config, 6);
      const RunConfig again = RunConfig::parse(config.text(), "its own text", tasks);
      if (again.text() != config.text()) throw std::logic_error("a configuration changed on its way through text");
    });
    attempt([&] {
      RunConfig config = small_config(c);
      change_settings(c, config, 2);
      config.train.steps = c.below(4);  // what a setting may have made long
      config.seeds = c.rarely() ? 0 : 1 + c.below(2);
      config.budget = 0;
      if (c.rarely()) config.train.eval_every = 0;
      if (c.rarely()) config.train.optimizer.momentum = c.number();
      RunOptions options;
      if (c.rarely()) options.folder = std::string(300, 'n');  // a name that no system takes
      if (c.rarely()) options.checkpoint_seconds = static_cast<double>(c.number());
      Run run = Run::create(config, options);
      attempt([&] { run.listen(c.rarely() ? RunListener() : [](const RunEvent&) {}); });
      attempt([&] { run.best_model(); });
      if (c.rarely()) run.control().stop();
      if (c.below(4) == 0) run.control().snapshot();
      ThreadPool pool(1);
      attempt([&] { run.train(pool).best(); });
      attempt([&] { run.best_model()->facts(); });
      attempt([&] { run.best_model(); });
      attempt([&] { RunReport().best(); });
      attempt([&] { Run::resume(c.below(2) ? "/no/such/run" : std::string(5000, 'n')); });
    });
  }
}

}  // namespace espalier::fuzz
