#include "base/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr int kLeft = 72, kRight = 20, kTop = 44, kBottom = 56;
constexpr int kLeaning = 36;  // room below for labels that lean
// Okabe and Ito's colours: told apart by readers who see few colours, too.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"};

const char* colour_of(std::size_t series) { return kColours[series % std::size(kColours)]; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

// One direction of the chart: data range [low, high] onto pixels [from, to].
struct Axis {
  double low, high, from, to;
  bool log;

  bool shows(double v) const { return std::isfinite(v) && (!log || v > 0); }
  double pixel(double v) const {
    const double t =
        log ? (std::log10(v) - std::log10(low)) / (std::log10(high) - std::log10(low)) : (v - low) / (high - low);
    return from + t * (to - from);
  }
};

// The range of the values shown, never empty; a little air around a flat line.
Axis make_axis(double low, double high, double from, double to, bool log) {
  if (!(low <= high)) low = log ? 0.1 : 0, high = 1;
  if (low == high && log) low /= 2, high *= 2;
  if (low == high) low -= std::max(0.5, std::abs(low) / 10), high += std::max(0.5, std::abs(high) / 10);
  return {low, high, from, to, log};
}

class Svg {
 public:
  explicit Svg(const PlotOptions& o, int more_below = 0) : o_(o), more_below_(more_below) {
    if (o.width < 200 || o.height < 150 || o.width > 10'000 || o.height > 10'000)
      fail("plot", fmt::format("{} x {} pixels", o.width, o.height), "200 x 150 to 10000 x 10000");
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
        o.width, o.height);
    add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    text(o.width / 2.0, 20, "middle", o.title, " font-size=\"15\"");
    text((left() + right()) / 2, o.height - 12, "middle", o.x_label);
    if (!o.y_label.empty())
      add("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
          (top() + bottom()) / 2, escaped(o.y_label));
  }

  double left() const { return kLeft; }
  double right() const { return o_.width - kRight; }
  double top() const { return kTop; }
  double bottom() const { return o_.height - kBottom - more_below_; }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  void text(double x, double y, const char* anchor, const std::string& words, const char* more = "") {
    if (!words.empty())
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, escaped(words));
  }

  void line(double x1, double y1, double x2, double y2, const char* colour) {
    add("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, colour);
  }

  void x_axis(const Axis& axis) {
    for (const double tick : axis_ticks(axis.low, axis.high, 8, axis.log)) {
      line(axis.pixel(tick), bottom(), axis.pixel(tick), bottom() + 5, "#333");
      text(axis.pixel(tick), bottom() + 19, "middle", fmt::format("{:.6g}", tick));
    }
  }
  void y_axis(const Axis& axis) {
    for (const double tick : axis_ticks(axis.low, axis.high, 6, axis.log)) {
      line(left(), axis.pixel(tick), right(), axis.pixel(tick), "#ddd");
      text(left() - 8, axis.pixel(tick) + 4, "end", fmt::format("{:.6g}", tick));
    }
  }
  void frame() {
    line(left(), top(), left(), bottom(), "#333");
    line(left(), bottom(), right(), bottom(), "#333");
  }

  std::string finish() { return out_ + "</svg>\n"; }

 private:
  const PlotOptions& o_;
  int more_below_;
  std::string out_;
};

void draw_series(Svg& svg, const Series& s, const Axis& x, const Axis& y, const char* colour) {
  std::string path;
  bool pen_down = false;
  std::size_t points = 0;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!x.shows(s.x[i]) || !y.shows(s.y[i])) {
      pen_down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', x.pixel(s.x[i]), y.pixel(s.y[i]));
    pen_down = true;
    ++points;
  }
  if (points > 0)
    svg.add(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\"/>\n",
        path, colour);
}

// In one row between title and plot, where no curve can lie.
void draw_legend(Svg& svg, const std::vector<Series>& series) {
  double x = svg.left();
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name.empty()) continue;
    svg.add("<path d=\"M{:.1f} {:.1f}h20\" stroke=\"{}\" stroke-width=\"3\"/>\n", x, svg.top() - 10, colour_of(i));
    svg.text(x + 26, svg.top() - 6, "start", series[i].name);
    x += 50 + 7.0 * static_cast<double>(series[i].name.size());
  }
}

// 10^k by an exact decimal text would be overkill: pow is exact enough here, and ticks are printed rounded.
double power_of_ten(int k) { return std::pow(10.0, k); }

std::vector<double> linear_ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double decade = power_of_ten(static_cast<int>(std::floor(std::log10(rough))));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= rough * 0.75) {
      step = factor * decade;
      break;
    }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last && ticks.size() < 100; ++k) ticks.push_back(k * step + 0.0);  // + 0.0: no "-0"
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int count) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, (last - first + count - 1) / count);
  const bool short_range = high < 100 * low;
  std::vector<double> ticks;
  for (int k = first; k <= last; k += stride)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power_of_ten(k);
      const bool wanted = factor == 1.0 || short_range;
      if (wanted && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  return ticks.size() < 3 && short_range ? linear_ticks(low, high, count) : ticks;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count, bool log) {
  if (!std::isfinite(low) || !std::isfinite(high) || !(low < high) || count < 1 || (log && low <= 0)) return {};
  return log ? log_ticks(low, high, count) : linear_ticks(low, high, count);
}

std::string line_chart(const std::vector<Series>& series, const PlotOptions& options) {
  Svg svg(options);
  const double inf = INFINITY;
  double low_x = inf, high_x = -inf, low_y = inf, high_y = -inf;
  const Axis any_x{0, 1, 0, 1, options.log_x}, any_y{0, 1, 0, 1, options.log_y};
  for (const Series& s : series) {
    if (s.x.size() != s.y.size())
      fail("plot", fmt::format("series \"{}\" with {} x and {} y", s.name, s.x.size(), s.y.size()), "as many");
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      if (!any_x.shows(s.x[i]) || !any_y.shows(s.y[i])) continue;
      low_x = std::min(low_x, s.x[i]), high_x = std::max(high_x, s.x[i]);
      low_y = std::min(low_y, s.y[i]), high_y = std::max(high_y, s.y[i]);
    }
  }
  const Axis x = make_axis(low_x, high_x, svg.left(), svg.right(), options.log_x);
  const Axis y = make_axis(low_y, high_y, svg.bottom(), svg.top(), options.log_y);
  svg.y_axis(y);
  svg.x_axis(x);
  svg.frame();
  for (std::size_t i = 0; i < series.size(); ++i) draw_series(svg, series[i], x, y, colour_of(i));
  draw_legend(svg, series);
  return svg.finish();
}

std::string bar_chart(const std::vector<std::pair<std::string, double>>& bars, const PlotOptions& options) {
  // Labels lean when one of them is wider than its bar's place, so that neighbours do not run into each
  // other.
  const double count = static_cast<double>(std::max<std::size_t>(1, bars.size()));
  const double pitch = (options.width - kLeft - kRight) / count;
  const bool lean = std::any_of(bars.begin(), bars.end(),
                                [&](const auto& bar) { return 7.0 * static_cast<double>(bar.first.size()) > pitch; });
  Svg svg(options, lean ? kLeaning : 0);
  double low = INFINITY, high = 0;
  for (const auto& [label, value] : bars) {
    if (!std::isfinite(value) || value < 0)
      fail("plot", fmt::format("bar \"{}\" of {}", label, value), "a finite value of at least 0");
    high = std::max(high, value);
    if (value > 0) low = std::min(low, value);
  }
  // A log axis starts below the smallest bar, so that it still has a height.
  const double base = options.log_y ? std::min(low, high) / 2 : 0;
  const Axis y = make_axis(base, high > 0 ? high : 1, svg.bottom(), svg.top(), options.log_y && high > 0);
  svg.y_axis(y);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = svg.left() + pitch * (static_cast<double>(i) + 0.1), middle = x + pitch * 0.4;
    const double top = y.shows(bars[i].second) ? y.pixel(bars[i].second) : svg.bottom();
    svg.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, top, pitch * 0.8,
            svg.bottom() - top, kColours[0]);
    if (lean)
      svg.add(
          "<text transform=\"translate({:.1f} {:.1f}) rotate(-40)\" text-anchor=\"end\" "
          "font-size=\"11\">{}</text>\n",
          middle + 4, svg.bottom() + 14, escaped(bars[i].first));
    else
      svg.text(middle, svg.bottom() + 19, "middle", bars[i].first);
  }
  svg.frame();
  return svg.finish();
}

}  // namespace espalier
