// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint seal`: takes attributes that were edited as they are.

#include <zarrpoint/checkpoint/verify/seal.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <string>

namespace cli {

exit_status run_seal(const seal_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(done, zp::seal(of.path, how));
    std::string text = (done.is_written ? "sealed  " : "sealed before  ") + escaped(of.path);
    for (const std::string& node : done.accepted)
      text += "\n  attributes of " + (node.empty() ? "the root" : '"' + escaped(node) + '"');
    return put(text + '\n');
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
