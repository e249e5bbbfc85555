// Replays recorded inputs on a flat netlist, without delays, and counts what its nets do.
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

struct Netlist {
    int64_t nets;
    int64_t gates;             // in topological order
    const int32_t *gate_in;    // 6 per gate
    const int32_t *gate_out;
    const uint64_t *gate_table;
    int64_t registers;
    const int32_t *data, *q, *qn, *register_clock;
    int64_t clock_gates;       // in topological order
    const int32_t *gate_clock, *enable, *gated;
};

}  // namespace

// Bits of ports are one byte each, cycles x ports. Returns the first cycle from `first` on in which
// an output differs from the recorded one, or -1.
extern "C" int64_t replay(
    const Netlist *n, int64_t cycles, int64_t first, int64_t end, int32_t clock,
    int64_t inputs, const int32_t *input_nets, const uint8_t *input_bits,
    int64_t outputs, const int32_t *output_nets, const uint8_t *output_bits,
    int64_t *transitions, int64_t *ones)
{
    std::vector<uint8_t> value(n->nets), before(n->nets), active(n->nets), next(n->registers);
    value[1] = 1;
    for (int64_t i = 0; i < n->registers; i++) value[n->qn[i]] = 1;
    for (int64_t cycle = 0; cycle < cycles && cycle < end; cycle++) {
        for (int64_t i = 0; i < inputs; i++) value[input_nets[i]] = input_bits[cycle * inputs + i];
        for (int64_t g = 0; g < n->gates; g++) {
            const int32_t *in = n->gate_in + 6 * g;
            unsigned index = value[in[0]] | value[in[1]] << 1 | value[in[2]] << 2
                | value[in[3]] << 3 | value[in[4]] << 4 | value[in[5]] << 5;
            value[n->gate_out[g]] = n->gate_table[g] >> index & 1;
        }
        if (cycle >= first) {
            for (int64_t i = 0; i < outputs; i++)
                if (value[output_nets[i]] != output_bits[cycle * outputs + i]) return cycle;
            for (int64_t i = 0; i < n->nets; i++) {
                transitions[i] += value[i] ^ before[i];
                ones[i] += value[i];
            }
        }
        std::memcpy(before.data(), value.data(), n->nets);
        // The rising edge: which clocks rise, what each register takes, then all at once.
        active[clock] = 1;
        for (int64_t i = 0; i < n->clock_gates; i++)
            active[n->gated[i]] = active[n->gate_clock[i]] & value[n->enable[i]];
        for (int64_t i = 0; i < n->registers; i++)
            next[i] = value[active[n->register_clock[i]] ? n->data[i] : n->q[i]];
        for (int64_t i = 0; i < n->registers; i++) {
            value[n->q[i]] = next[i];
            value[n->qn[i]] = !next[i];
        }
        if (cycle >= first) {
            transitions[clock] += 2;
            for (int64_t i = 0; i < n->clock_gates; i++)
                transitions[n->gated[i]] += 2 * active[n->gated[i]];
        }
    }
    return -1;
}
