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
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds timeout{2000};
};

struct ServiceAnswer {
  long status = 0;
  std::string text = {};
};

/// Waits for the answer, whatever its status. Failures that may pass (5xx, 429, a cut connection)
/// are tried three times within `timeout`. Throws not_found where no service is, unavailable where
/// a service does not answer.
ServiceAnswer ask_service(const ServiceRequest& request);

}  // namespace infeed::detail
