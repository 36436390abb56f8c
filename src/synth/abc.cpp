#include "synth/abc.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/export.hpp"
#include "espalier/import.hpp"
#include "espalier/verify.hpp"
#include "synth/child_process.hpp"
#include "synth/work_folder.hpp"

namespace espalier {
namespace {

// Each ends in a mapping to two-input look-up tables, which is what we count. Collapsing to a two-level form forgets
// the structure altogether: only for circuits of few inputs.
constexpr const char* kScripts[] = {
    "strash; ifraig; dc2; dc2; dch; if -K 2 -a; mfs2 -a -e",
    "strash; balance; rewrite; refactor; balance; rewrite; rewrite -z; balance; refactor -z; rewrite -z; balance; "
    "resub -K 8; dch; if -K 2 -a; mfs2 -a -e",
};
constexpr const char* kCollapsing[] = {
    "collapse; sop; fx; strash; dc2; dch; if -K 2 -a; mfs2 -a -e",
    "collapse; muxes; strash; dc2; dc2; dch; if -K 2 -a; mfs2 -a -e",
};
constexpr std::size_t kMaxCollapsed = 14;  // live inputs
constexpr double kProofSeconds = 60;

// What ABC makes of it, under the old names; nothing when the run failed.
std::optional<Netlist> rewritten(const Netlist& netlist, const char* script, const std::string& program,
                                 double seconds) {
  const WorkFolder folder;
  const std::string in = folder.file("in.blif"), out = folder.file("out.blif");
  write_atomically(in, std::string_view(export_blif(netlist)));
  const std::string commands = fmt::format("read_blif {}; {}; write_blif {}", in, script, out);
  if (run_program({program, "-c", commands}, seconds) != 0 || !std::filesystem::exists(out)) return std::nullopt;
  try {
    Netlist result = import_blif(read_text(out), "abc's answer");
    if (result.inputs.size() != netlist.inputs.size() || result.outputs.size() != netlist.outputs.size())
      return std::nullopt;
    result.name = netlist.name;
    result.inputs = netlist.inputs;
    for (std::size_t o = 0; o < result.outputs.size(); ++o) result.outputs[o].name = netlist.outputs[o].name;
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string find_abc(const std::string& program) {
  if (!program.empty()) return find_program(program);
  const std::string debian = find_program("berkeley-abc");
  return debian.empty() ? find_program("abc") : debian;
}

Netlist simplify_with_abc(const Netlist& simplified, const Netlist& start, const AbcOptions& options,
                          AbcReport* report) {
  AbcReport local;
  AbcReport& told = report ? *report : local;
  told.program = find_abc(options.program);
  if (told.program.empty())
    fail("abc", options.program.empty() ? "no berkeley-abc or abc in $PATH" : "no program " + options.program,
         "Berkeley ABC", "apt-get install berkeley-abc, or leave --with-abc away");
  VerifyOptions proof;
  proof.seconds = kProofSeconds;
  SimplifyOptions quick_look = options.simplify;
  quick_look.resubstitute_options.walks = 0;
  Netlist best = simplified;
  const auto try_script = [&](const Netlist& from, const char* script) {
    ++told.runs;
    const std::optional<Netlist> answer = rewritten(from, script, told.program, options.seconds);
    if (!answer) {
      ++told.failed;
      return;
    }
    // A quick look first: what is far from the best is not worth the long walks.
    Netlist candidate = simplify(*answer, quick_look);
    if (4 * candidate.gates.size() > 5 * best.gates.size()) return;
    candidate = simplify(candidate, options.simplify);
    if (candidate.gates.size() >= best.gates.size()) return;
    if (verify(simplified, candidate, proof).verdict != VerifyReport::Verdict::kEqual) {
      ++told.unproved;
      return;
    }
    ++told.kept;
    best = candidate;
  };
  SimplifyOptions quick;
  quick.sweep = quick.resubstitute = false;
  const Netlist tidy_start = simplify(start, quick);
  for (int round = 0; round < options.rounds; ++round) {
    const std::size_t before = best.gates.size();
    const Netlist from = best;
    for (const char* script : kScripts) try_script(from, script);
    if (round == 0) {
      for (const char* script : kScripts) try_script(tidy_start, script);
      if (count_netlist(simplified).live_inputs <= kMaxCollapsed)
        for (const char* script : kCollapsing) try_script(from, script);
    }
    if (best.gates.size() == before) break;
  }
  return best;
}

}  // namespace espalier
