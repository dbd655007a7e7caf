#include "records/remote/http/nginx_server.h"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace infeed::test {
namespace {

pid_t spawn(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t process = -1;
  const int code =
      ::posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    throw std::runtime_error(arguments[0] +
                             " is not there; tools/install_packages.sh test installs it");
  }
  return process;
}

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool is_good =
      ::bind(descriptor, generic, size) == 0 && ::getsockname(descriptor, generic, &size) == 0;
  ::close(descriptor);
  if (!is_good) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

bool can_connect(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(descriptor);
  return connected;
}

}  // namespace

NginxServer::NginxServer() {
  std::filesystem::create_directory(folder_.path() / "files");
  const pid_t maker =
      spawn({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=infeed test", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", folder_.file("key.pem"), "-out", ca_file()},
            folder_.file("output"));
  int status = 0;
  ::waitpid(maker, &status, 0);
  if (status != 0) throw std::runtime_error(read_whole(folder_.file("output")));
  constexpr int kTries = 5;  // another process may take a port before nginx does
  for (int i = 0; i < kTries; ++i) {
    http_port_ = free_port();
    https_port_ = free_port();
    if (try_to_start()) return;
  }
  throw std::runtime_error("nginx does not start: " + read_whole(folder_.file("output")) +
                           read_whole(folder_.file("error.log")));
}

NginxServer::~NginxServer() { stop(); }

void NginxServer::put(std::string_view name, std::string_view bytes) const {
  // Renamed, as careful programs do: readers of the old file go on reading it.
  const std::string partial = folder_.write("partial", bytes);
  std::filesystem::rename(partial, folder_.path() / "files" / name);
}

std::string NginxServer::http(std::string_view path) const {
  return fmt::format("http://127.0.0.1:{}{}", http_port_, path);
}

std::string NginxServer::https(std::string_view path) const {
  return fmt::format("https://127.0.0.1:{}{}", https_port_, path);
}

void NginxServer::start() {
  if (!try_to_start()) throw std::runtime_error("nginx does not start again");
}

bool NginxServer::try_to_start() {
  const std::string file = folder_.write("nginx.conf", configuration());
  process_ = spawn({"/usr/sbin/nginx", "-p", folder_.path().string(), "-c", file, "-e",
                    folder_.file("error.log")},
                   folder_.file("output"));
  while (!can_connect(http_port_) || !can_connect(https_port_)) {
    if (::waitpid(process_, nullptr, WNOHANG) == process_) return false;
    std::this_thread::yield();
  }
  return true;
}

void NginxServer::stop() {
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

std::string NginxServer::configuration() const {
  std::string text = fmt::format(
      "daemon off;\nmaster_process off;\npid {0}/pid;\nevents {{}}\n"
      "http {{\n  access_log off;\n  client_body_temp_path {0}/body;\n"
      "  server {{\n    listen 127.0.0.1:{1};\n    listen 127.0.0.1:{2} ssl;\n"
      "    ssl_certificate {0}/certificate.pem;\n    ssl_certificate_key {0}/key.pem;\n"
      "    root {0}/files;\n",
      folder_.path().string(), http_port_, https_port_);
  text += fmt::format(
      "    location /forbidden {{ deny all; }}\n    location /broken {{ return 503; }}\n"
      "    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}\n"
      "    location /insecure/ {{ rewrite ^/insecure/(.*)$ http://127.0.0.1:{}/$1 redirect; }}\n",
      http_port_);
  for (const char* const kind : {"proxy", "fastcgi", "uwsgi", "scgi"}) {
    text += fmt::format("    {0}_temp_path {1}/{0};\n", kind, folder_.path().string());
  }
  return text + "  }\n}\n";
}

}  // namespace infeed::test
