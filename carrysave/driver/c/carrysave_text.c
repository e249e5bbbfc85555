#include "carrysave_internal.h"

const char *carrysave_status_text(carrysave_status status)
{
    switch (status) {
    case CARRYSAVE_OK: return "done";
    case CARRYSAVE_NO_DEVICE: return "there is no co-processor at this address";
    case CARRYSAVE_OTHER_ABI: return "the co-processor has another version of the register map";
    case CARRYSAVE_BUSY: return "the co-processor is busy";
    case CARRYSAVE_FAILED: return "a job failed";
    case CARRYSAVE_TIMEOUT: return "jobs did not end in time";
    case CARRYSAVE_LOST: return "the co-processor cannot be reset: memory does not answer";
    case CARRYSAVE_DISTURBED: return "registers were written by something else during the run";
    case CARRYSAVE_BAD_DIMENSION: return "M, N and K must be 1..16777215";
    case CARRYSAVE_BAD_K: return "K must be at most info.k_max, or that of the mode";
    case CARRYSAVE_BAD_MODE: return "the co-processor is built without what the job needs";
    case CARRYSAVE_BAD_ROW: return "distances between rows must be at least the bytes of a row";
    case CARRYSAVE_BAD_ADDRESS: return "matrices must end within info.address_width bits";
    case CARRYSAVE_BAD_BLOCK: return "blocks must fit into the stores";
    case CARRYSAVE_BAD_REQUANTISATION: return "a field of the requantisation is out of range";
    case CARRYSAVE_LINK: return "the line lost an access, or the device was reset by itself";
    case CARRYSAVE_BAD_LENGTH: return "rows must have at most the codes of carrysave_vector_most";
    case CARRYSAVE_BAD_DEVICE: return "registers of the co-processor say what none can be";
    case CARRYSAVE_BAD_PARAMETER: return "a parameter of the program is out of its range";
    case CARRYSAVE_BAD_WINDOW: return "steps, edges or pixels of a window are out of range";
    case CARRYSAVE_SILENT: return "memory does not answer";
    case CARRYSAVE_UNSTARTED: return "memory has not started";
    case CARRYSAVE_BAD_RING: return "a ring must be one job or more, at a whole beat";
    }
    return "unknown status";
}

#define NAME(code, name, meaning) \
    case code: return name;

const char *carrysave_error_text(uint32_t code)
{
    switch (code) {
        CARRYSAVE_COPROCESSOR__ERROR__CODE_LIST(NAME)
    }
    return "unknown error";
}

const char *carrysave_response_text(uint32_t response)
{
    switch (response) {
        CARRYSAVE_COPROCESSOR__ERROR__RESPONSE_LIST(NAME)
    }
    return "unknown response";
}
