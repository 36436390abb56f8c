// espalier train TASK [options]: trains a task into a run folder; --resume continues one.
#include <fmt/format.h>

#include <cstdio>

#include "checks.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "task_options.hpp"
#include "train_flags.hpp"
#include "espalier/error.hpp"
#include "runs/seeds.hpp"

namespace espalier::app {
namespace {

void add_run_flags(CLI::App& command, TrainFlags& f) {
  command.add_option("--threads", f.threads, "worker threads; 0 = all cores. Results do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(0, 1024).description(""));
  command
      .add_option("--checkpoint-every", f.session.checkpoint_every, "epochs between checkpoints; 0 = every few seconds")
      ->type_name("N")
      ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
  command.add_flag("--quiet", f.quiet, "no progress");
  command.add_flag("--json", f.json, "print one JSON object on standard output at the end");
  command.add_flag("--timing", f.timing, "show where the time of an epoch goes");
  command.add_flag("--require-solved", f.require_solved, "exit with 3 when the task is not solved");
}

void print_timing(const Trainer& trainer, std::uint64_t epochs) {
  const PhaseSeconds& p = trainer.phases();
  const double total = p.forward + p.backward + p.reduction + p.optimizer;
  const auto line = [&](const char* name, double seconds) {
    fmt::print(stderr, "  {:<10} {:8.3f} ms an epoch {:6.1f} %\n", name, seconds * 1e3 / static_cast<double>(epochs),
               100 * seconds / total);
  };
  if (epochs == 0 || total <= 0) return;
  fmt::print(stderr, "time of an epoch:\n");
  line("forward", p.forward);
  line("backward", p.backward);
  line("reduction", p.reduction);
  line("optimizer", p.optimizer);
}

std::string detail(const Trainer& t) {
  const TrainState& s = t.state();
  return fmt::format("loss {:.4g}  validation {:.4g}  score {:.2f}%  best {:.2f}%", s.loss, s.last.loss,
                     100 * s.last.score, 100 * s.best.score);
}

// What the task itself reports (test sets, baselines), one value a line: "test.model.fixed_point  1".
void print_report(const Json& j, const std::string& path) {
  if (j.is_object()) {
    for (const auto& [key, value] : j.items()) print_report(value, path.empty() ? key : path + "." + key);
  } else {
    fmt::print("  {:<36} {}\n", path, j.is_number_float() ? fmt::format("{:.4g}", j.get<double>()) : j.dump());
  }
}

void print_result(const Session& session, const Json& j) {
  fmt::print(
      "{} {}: {} after {} epochs in {} ({:.2f} ms an epoch)\n", j["task"].get<std::string>(),
      fmt::format("seed {}", j["seed"].get<std::uint64_t>()),
      j["solved"].get<bool>() ? "solved" : fmt::format("not solved, score {:.2f} %", 100 * j["score"].get<double>()),
      j["epochs"].get<std::uint64_t>(), clock_text(j["seconds"]), j["ms_per_epoch"].get<double>());
  fmt::print("weights {}\nmodel   {}\n", j["weights_hash"].get<std::string>(),
             session.folder().file("model.safetensors"));
  if (const auto own = j.find(j["task"].get<std::string>()); own != j.end()) print_report(*own, {});
}

RunFolder open_folder(const Json& wanted, const TrainFlags& f) {
  if (!f.resume.empty()) return RunFolder::open(f.resume);
  const Json config = checked_config(wanted);
  find_task(config["task"].get<std::string>()).make(config, config_seed(config));  // impossible ones fail here
  const std::string path = f.out.empty() ? fmt::format("runs/{}-{}", config["task"].get<std::string>(), f.seed) : f.out;
  return create_run(path, config, f.force);
}

int train(const Json& wanted, const TrainFlags& f) {
  const StopFlag& stop = interrupt_flag();
  const ThreadPool pool(f.threads);
  RunFolder folder = open_folder(wanted, f);
  if (parse_config(folder.config(), folder.file("config.json")).at("seeds") > 1) return train_many(folder, pool, f);
  Session session(std::move(folder), pool, f.session);
  const Trainer& trainer = session.trainer();
  const std::uint64_t first = session.first_epoch();
  Progress progress(f.quiet, trainer.options().epochs, first);
  progress.update(first, "the first epoch");
  const Outcome outcome = session.run([&](const Trainer& t, bool) {
    progress.update(t.state().epoch, detail(t));
    return !stop.raised();
  });
  progress.clear();
  const Json summary = session.summary(outcome);
  if (f.timing) print_timing(trainer, trainer.state().epoch - first);
  if (f.json)
    fmt::print("{}\n", summary.dump());
  else if (outcome != Outcome::kInterrupted)
    print_result(session, summary);
  if (outcome == Outcome::kInterrupted) {
    fmt::print(stderr, "interrupted after epoch {}; continue with: espalier train --resume {}\n", trainer.state().epoch,
               session.folder().path());
    return kInterrupted;
  }
  return f.require_solved && !summary["solved"].get<bool>() ? kUnsolved : kDone;
}

void print_list() {
  for (const auto& task : all_tasks()) fmt::print("{:<20} {}\n", task->name(), task->summary());
}

}  // namespace

void add_train_command(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* train_app = program.add_subcommand("train", "train a task, or continue a run");
  train_app->footer("espalier train --list shows the tasks, espalier train TASK --help their options.");
  train_app->add_flag("--list", flags->list, "list the tasks");
  train_app->add_option("--resume", flags->resume, "continue the run in this folder")->type_name("DIR");
  add_run_flags(*train_app, *flags);
  train_app->require_subcommand(0, 1);
  for (const auto& task : all_tasks()) {
    CLI::App* command = train_app->add_subcommand(task->name(), task->summary());
    command->group("Tasks");
    add_run_flags(*command, *flags);
    command->add_option("--out", flags->out, "run folder (default runs/TASK-SEED)")
        ->type_name("DIR")
        ->check(CLI::Validator([](std::string& text) { return text.empty() ? "got an empty name" : ""; }, ""));
    command->add_flag("--force", flags->force, "replace a run that is in the folder");
    command->add_option("--seed", flags->seed, "seed of wiring, data and noise")
        ->default_str("1")
        ->type_name("N")
        ->check(is_seed());
    const auto config = add_task_options(*command, *task);
    command->callback([flags, config, &exit_code] {
      (*config)["seed"] = flags->seed;
      exit_code = train(*config, *flags);
    });
  }
  // So that a task that does not exist is named as such; set last, because commands added later inherit it.
  train_app->allow_extras();
  train_app->callback([train_app, flags, &exit_code] {
    if (!train_app->get_subcommands().empty()) return;
    for (const std::string& word : train_app->remaining()) {
      if (word.starts_with("-")) throw CLI::ExtrasError({word});
      as_usage([&] { find_task(word); });
    }
    if (flags->list) {
      print_list();
    } else if (!flags->resume.empty()) {
      exit_code = train({}, *flags);
    } else {
      throw CLI::ValidationError("train", "got no task, expected one; hint: espalier train --list shows them");
    }
  });
}

}  // namespace espalier::app
