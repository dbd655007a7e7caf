#include "remote/aws/s3_settings.h"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <utility>

#include "infeed/error.h"
#include "remote/aws/credential_provider.h"

namespace infeed::detail {
namespace {

using Section = std::map<std::string, std::string>;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// Reads section "[name]" with lines "key = value". Empty when there is no such section (or file).
std::optional<Section> read_section(const std::string& file, const std::string& name) {
  std::ifstream stream(file);
  std::optional<Section> section;
  bool is_wanted = false;
  for (std::string line; std::getline(stream, line);) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[' && text.back() == ']') {
      is_wanted = trimmed(text.substr(1, text.size() - 2)) == name;
      if (is_wanted && !section) section.emplace();
      continue;
    }
    const std::size_t equals = text.find('=');
    // An indented line belongs to the nested value above it.
    if (!is_wanted || equals == text.npos || line.front() == ' ' || line.front() == '\t') continue;
    (*section)[std::string(trimmed(text.substr(0, equals)))] = trimmed(text.substr(equals + 1));
  }
  return section;
}

struct Profile {
  std::string name;
  std::string credentials_file;
  std::string config_file;
  Section values;
};

Profile read_profile(const Environment& environment) {
  const std::string home = environment("HOME").value_or("");
  const auto asked = environment("AWS_PROFILE");
  Profile profile{asked.value_or("default"),
                  environment("AWS_SHARED_CREDENTIALS_FILE").value_or(home + "/.aws/credentials"),
                  environment("AWS_CONFIG_FILE").value_or(home + "/.aws/config"),
                  {}};
  const std::string config_name =
      profile.name == "default" ? profile.name : "profile " + profile.name;
  const auto config = read_section(profile.config_file, config_name);
  const auto secrets = read_section(profile.credentials_file, profile.name);
  if (asked && !config && !secrets) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("AWS_PROFILE is '{}', but there is no such section in '{}' or '{}'",
                            profile.name, profile.credentials_file, profile.config_file));
  }
  if (config) profile.values = *config;
  if (secrets) {
    for (const auto& [key, value] : *secrets) profile.values[key] = value;
  }
  return profile;
}

std::optional<std::string> value_of(const Profile& profile, const std::string& key) {
  const auto found = profile.values.find(key);
  if (found == profile.values.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<AwsCredentials> credentials_of(const std::optional<std::string>& id,
                                             const std::optional<std::string>& secret,
                                             const std::optional<std::string>& token,
                                             std::pair<const char*, const char*> names) {
  if (!id && !secret) return std::nullopt;
  if (!id || !secret) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is set but {} isn't; set both", id ? names.first : names.second,
                            id ? names.second : names.first));
  }
  return AwsCredentials{*id, *secret, token.value_or("")};
}

bool is_true(const std::optional<std::string>& value) {
  return value && *value != "0" && *value != "false" && *value != "no" && *value != "NO" &&
         *value != "False";
}

/// Refuses a profile that means other credentials: going on would sign as somebody else.
void refuse_other_ways(const Profile& profile) {
  for (const char* const key : {"role_arn", "sso_session", "sso_start_url", "credential_process",
                                "web_identity_token_file"}) {
    if (!value_of(profile, key)) continue;
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("section [{0}] takes its credentials from '{1}', which is not understood "
                    "here; set what 'aws configure export-credentials --profile {0} --format "
                    "env' prints",
                    profile.name, key));
  }
}

/// Finds credentials in the order of AWS's tools: the source nearest to this run counts.
void find_credentials(const Environment& environment, const Profile& profile,
                      SharedCredentials* shared, S3Settings& settings) {
  settings.credentials = credentials_of(
      environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
      environment("AWS_SESSION_TOKEN"), {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"});
  if (settings.credentials) return;
  if (CredentialProvider provider = web_identity_provider(environment, settings.region)) {
    settings.provided = renewed_credentials(std::move(provider), shared);
    return;
  }
  settings.credentials = credentials_of(
      value_of(profile, "aws_access_key_id"), value_of(profile, "aws_secret_access_key"),
      value_of(profile, "aws_session_token"), {"aws_access_key_id", "aws_secret_access_key"});
  if (settings.credentials) return;
  refuse_other_ways(profile);
  if (CredentialProvider provider = container_provider(environment)) {
    settings.provided = renewed_credentials(std::move(provider), shared);
    return;
  }
  std::string of_machine;
  if (CredentialProvider provider = machine_provider(environment)) {
    try {
      settings.provided = renewed_credentials(std::move(provider), shared);
      return;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unavailable) throw;
      // Most machines lend none.
      of_machine = fmt::format("; the machine lends none: {}", error.message());
    }
  }
  throw Error(ErrorCode::permission_denied,
              fmt::format("there are no credentials for S3: set AWS_ACCESS_KEY_ID and "
                          "AWS_SECRET_ACCESS_KEY, or write them into section [{}] of '{}'; for a "
                          "public bucket set AWS_NO_SIGN_REQUEST=1{}",
                          profile.name, profile.credentials_file, of_machine));
}

}  // namespace

std::optional<std::string> environment_of_process(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

S3Settings read_s3_settings(const Environment& environment, SharedCredentials* shared) {
  const Profile profile = read_profile(environment);
  const auto first = [&](std::initializer_list<const char*> variables,
                         const char* key) -> std::optional<std::string> {
    for (const char* const variable : variables) {
      if (auto value = environment(variable)) return value;
    }
    return value_of(profile, key);
  };
  S3Settings settings;
  if (auto region = first({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region")) {
    // The region becomes a part of hosts that secrets are sent to.
    constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (region->find_first_not_of(kCharacters) != region->npos) {
      throw Error(ErrorCode::invalid_argument,
                  "the region (AWS_REGION) is none: it has letters a-z, digits and '-', as in "
                  "us-east-1");
    }
    settings.region = *region;
  }
  if (auto endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url")) {
    settings.endpoint = *endpoint;
    while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  }
  if (is_true(environment("AWS_NO_SIGN_REQUEST"))) return settings;
  find_credentials(environment, profile, shared, settings);
  return settings;
}

}  // namespace infeed::detail
