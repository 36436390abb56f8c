#include "synth/names.hpp"

#include <fmt/format.h>

#include <cctype>

#include "base/text.hpp"

namespace espalier {
namespace {

// Of Verilog and SystemVerilog, C, C++ and JavaScript, in one text with a blank around every word.
constexpr std::string_view kReserved =
    " accept_on alias alignas alignof always always_comb always_ff always_latch and and_eq arguments asm assert"
    " assign assume async auto automatic await before begin bind bins binsof bit bitand bitor bool break buf bufif0"
    " bufif1 byte case casex casez catch cell chandle char char16_t char32_t char8_t checker class clocking cmos"
    " co_await co_return co_yield compl concept config const const_cast consteval constexpr constinit constraint"
    " context continue cover covergroup coverpoint cross deassign debugger decltype default defparam delete design"
    " disable dist do double dynamic_cast edge else end endcase endchecker endclass endclocking endconfig"
    " endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty"
    " endsequence endspecify endtable endtask enum eval event eventually expect explicit export extends extern false"
    " final finally first_match float for force foreach forever fork forkjoin friend from function generate genvar"
    " get global goto highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import in incdir"
    " include initial inline inout input inside instance instanceof int integer interconnect interface intersect"
    " join join_any join_none large let liblist library local localparam logic long longint macromodule main matches"
    " medium modport module mutable namespace nand negedge nettype new nexttime nmos noexcept nor noshowcancelled"
    " not not_eq notif0 notif1 null nullptr of operator or or_eq output package packed parameter pmos posedge"
    " primitive priority private program property protected public pull0 pull1 pulldown pullup pulsestyle_ondetect"
    " pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg register reinterpret_cast"
    " reject_on release repeat requires restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually"
    " s_nexttime s_until s_until_with scalared sequence set short shortint shortreal showcancelled signed sizeof"
    " small soft solve specify specparam static static_assert static_cast string strong strong0 strong1 struct super"
    " supply0 supply1 switch sync_accept_on sync_reject_on table tagged task template this thread_local throughout"
    " throw time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg true try type typedef"
    " typeid typename typeof typeof_unqual undefined union unique unique0 unsigned until until_with untyped use"
    " using uwire var vectored virtual void volatile wait wait_order wand wchar_t weak weak0 weak1 while wildcard"
    " wire with within wor xnor xor xor_eq yield ";

bool is_reserved(std::string_view word) { return kReserved.find(fmt::format(" {} ", word)) != std::string_view::npos; }

}  // namespace

std::string identifier(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128 ? c : '_';
  // A prefix keeps clear of reserved words and of a leading digit.
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) || result[0] == '_' || is_reserved(result))
    result = "m_" + result;
  return result;
}

std::string visible(std::string_view text, std::string_view but) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const std::size_t bytes = point.problem ? 1 : point.bytes;
    const bool kept = !point.problem && !is_hidden(point.value) && but.find(text[at]) == std::string_view::npos;
    result += kept ? text.substr(at, bytes) : "_";
    at += bytes;
  }
  return result;
}

std::string line_name(std::string_view name) { return name.empty() ? "_" : visible(name, " #\\"); }

std::string UniqueNames::take(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

PortNames::PortNames(const Netlist& n) {
  for (const std::string& input : n.inputs) inputs.push_back(taken.take(line_name(input)));
  for (const NetlistOutput& output : n.outputs) outputs.push_back(taken.take(line_name(output.name)));
}

std::string verilog_letters(std::string_view name) {
  std::string result;
  // What begins a macro or a comment does so in some tools even in an escaped name.
  for (const char c : name) {
    const bool trouble =
        c == '`' || c == '*' || c == '"' || c == '\\' || (c == '/' && !result.empty() && result.back() == '/');
    result += c > ' ' && c < 127 && !trouble ? c : '_';
  }
  return result;
}

std::string verilog_name(std::string_view letters) {
  if (identifier(letters) == letters) return std::string(letters);
  return fmt::format("\\{} ", letters);  // a blank ends it
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 60;
  std::string result;
  for (const char c : name.substr(0, kMost)) result += c >= ' ' && c < 127 ? c : '?';
  return name.size() > kMost ? result + "..." : result;
}

std::string comment_text(std::string_view text) { return visible(text, "/*\\"); }

std::string gate_expression(Gate gate, std::string_view a, std::string_view b, std::string_view zero,
                            std::string_view one) {
  switch (gate) {
    case Gate::kFalse: return std::string(zero);
    case Gate::kAnd: return fmt::format("{} & {}", a, b);
    case Gate::kAAndNotB: return fmt::format("{} & ~{}", a, b);
    case Gate::kA: return std::string(a);
    case Gate::kNotAAndB: return fmt::format("~{} & {}", a, b);
    case Gate::kB: return std::string(b);
    case Gate::kXor: return fmt::format("{} ^ {}", a, b);
    case Gate::kOr: return fmt::format("{} | {}", a, b);
    case Gate::kNor: return fmt::format("~({} | {})", a, b);
    case Gate::kXnor: return fmt::format("~({} ^ {})", a, b);
    case Gate::kNotB: return fmt::format("~{}", b);
    case Gate::kAOrNotB: return fmt::format("{} | ~{}", a, b);
    case Gate::kNotA: return fmt::format("~{}", a);
    case Gate::kNotAOrB: return fmt::format("~{} | {}", a, b);
    case Gate::kNand: return fmt::format("~({} & {})", a, b);
    case Gate::kTrue: return std::string(one);
  }
  return {};
}

}  // namespace espalier
