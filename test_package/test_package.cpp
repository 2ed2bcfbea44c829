// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarrpoint.hpp>

#include <vector>

int main() {
  const std::vector<float> values{1, 2, 3};
  const zarrpoint::memory_store store;
  zarrpoint::save(store, {{"values", values}}).value();
  const auto back = zarrpoint::open(store).value().load<std::vector<float>>("values").value();
  return back == values ? 0 : 1;
}
