#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Sends short requests to the services that lend credentials.
namespace infeed::detail {

struct ServiceRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};
  std::string body = {};
  enum class Way {
    direct,    ///< never by a proxy: the service belongs to this machine
    by_proxy,  ///< by the proxy that the usual variables name
  };
  Way way = Way::direct;
  bool may_be_missing = false;  ///< most machines have no such service
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds timeout{2000};
};

struct ServiceAnswer {
  long status = 0;
  std::string text = {};
};

/// Waits for the answer, whatever its status. Failures that may pass (5xx, 429, a cut or refused
/// connection, a host that isn't found) are tried three times within `timeout`. Throws unavailable
/// where the service does not answer, but not_found, at once, where no connection comes about and
/// the service may be missing.
ServiceAnswer ask_service(const ServiceRequest& request);

}  // namespace infeed::detail
