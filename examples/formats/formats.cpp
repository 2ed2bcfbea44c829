// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Opens whatever places its arguments name, shows a leaf of each, and saves all leaves of it in
// three other formats: `formats run/step_1200 model.gguf`. See docs/formats.md.

#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;

/// Saves what was opened in another format. Texts, which not all formats have, are left out.
bool save_again(const zp::checkpoint& from, const std::string& to, const zp::save_options& how) {
  std::vector<zp::leaf> leaves;
  for (const std::string& name : from.names()) {
    auto value = from.load<zp::tensor>(name);
    if (!value) return std::printf("  %s\n", to_string(value.failure()).c_str()), false;
    if (value->spec().type.is_variable()) {
      std::printf("  %s is left out: it has texts\n", name.c_str());
    } else {
      leaves.emplace_back(name.empty() ? "value" : name, *std::move(value));
    }
  }
  const auto report = zp::save(to, leaves, how);
  std::printf("  %s: %s\n", to.c_str(), report ? "saved" : to_string(report.failure()).c_str());
  return report.has_value();
}

bool show(const std::string& path, const std::string& to) {
  const auto opened = zp::open(path, zp::all_formats());
  if (!opened) return std::printf("%s\n", to_string(opened.failure()).c_str()), false;
  std::printf("%s: %s, %zu leaves\n", path.c_str(), opened->format().c_str(), opened->size());
  if (opened->size() == 0) return true;
  const std::string name = opened->names().front();
  const auto loaded = opened->load<zp::tensor>(name);
  if (!loaded) return std::printf("  %s\n", to_string(loaded.failure()).c_str()), false;
  const zp::tensor& whole = *loaded;
  zp::box part = zp::box::whole(whole.shape());
  if (part.shape.rank() > 0 && part.shape[0] > 1) part.shape[0] = 1;  // its first row
  const zp::tensor first = opened->load<zp::tensor>(name, part).value();
  const zp::json attributes = opened->attributes(name).value();
  std::printf("  %s: %s, a part of %s, %s\n", name.c_str(), to_string(whole.spec()).c_str(),
              to_string(first.spec()).c_str(),
              attributes.is_null() ? "no attributes" : "attributes");
  return save_again(*opened, to + ".zarr", {}) &&
         save_again(*opened, to + ".dcp", {.format = zp::dcp::format{}}) &&
         save_again(*opened, to + ".orbax", {.format = zp::orbax::format{}});
}

int main(int count, char** arguments) {
  if (count < 2) return std::puts("formats PATH...: opens and saves again what lies there"), 2;
  bool is_done = true;
  for (int i = 1; i < count; ++i)
    is_done = show(arguments[i], "place-" + std::to_string(i)) && is_done;
  return is_done ? 0 : 1;
}
