// SPDX-License-Identifier: BSD-3-Clause
// pvm_cxx: a task and its child in C++: containers there and back.
#include <pvm3.h>

#include <climits>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int TAG = 5;

int good(int status)
{
    if (status < 0) {
        throw std::runtime_error("error " + std::to_string(status));
    }
    return status;
}

class Message {
public:
    explicit Message(int encoding) { good(pvm_initsend(encoding)); }
    Message(int task, int tag) { good(pvm_recv(task, tag)); }

    Message &operator<<(std::vector<double> &values)
    {
        int count = static_cast<int>(values.size());
        good(pvm_pkint(&count, 1, 1));
        good(pvm_pkdouble(values.data(), count, 1));
        return *this;
    }

    std::vector<double> values()
    {
        int count = 0;
        good(pvm_upkint(&count, 1, 1));
        std::vector<double> found(static_cast<size_t>(count));
        good(pvm_upkdouble(found.data(), count, 1));
        return found;
    }

    void send(int task) { good(pvm_send(task, TAG)); }
};

int ask(const std::string &program)
{
    std::string name = program;
    int child = 0;
    std::vector<double> values(20000);

    if (pvm_spawn(name.data(), nullptr, PvmTaskDefault, nullptr, 1, &child) != 1) {
        throw std::runtime_error("no child");
    }
    std::iota(values.begin(), values.end(), 0.5);
    for (int encoding : {PvmDataDefault, PvmDataRaw}) {
        Message message(encoding);
        (message << values).send(child);
        const std::vector<double> back = Message(child, TAG).values();
        std::printf("c++: %zu numbers come back as they were: %d\n", back.size(), back == values);
    }
    try {
        good(pvm_setopt(PvmAutoErr, 0));
        good(pvm_send(-1, TAG));
    } catch (const std::runtime_error &error) {
        std::printf("c++: %s\n", error.what());
    }
    return 0;
}

int echo(int parent)
{
    for (int encoding : {PvmDataRaw, PvmDataDefault}) {
        std::vector<double> values = Message(parent, TAG).values();
        Message message(encoding);
        (message << values).send(parent);
    }
    return 0;
}

} // namespace

int main()
{
    char program[PATH_MAX] = "";
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);

    if (bytes < 0 || pvm_mytid() < 0) {
        return 1;
    }
    const int parent = pvm_parent();
    const int status = parent > 0 ? echo(parent) : ask(program);
    pvm_exit();
    return status;
}
