"""The messages of Vizier's wire, by field numbers.

They live in a descriptor pool of their own, under names of their own, so that a process may also load Vizier's. Only
numbers and types meet on the wire: enumerations are integers here, and fields that nobody reads are left out.
"""

from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

PACKAGE = "photinus.vizier"
KNOWN = (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)

# Name, number, type (with * if repeated), and the group of fields of which one is set.
FIELDS: dict[str, tuple[str, ...]] = {
    "KeyValue": ("key 1 string", "value 2 string kind", "proto 3 Any kind", "ns 4 string"),
    "Study": (
        "name 1 string",
        "display_name 2 string",
        "study_spec 3 StudySpec",
        "state 4 int32",
        "create_time 5 Timestamp",
    ),
    "StudySpec": (
        "metrics 1 *MetricSpec",
        "parameters 2 *ParameterSpec",
        "algorithm 3 string",
        "observation_noise 6 int32",
        "metadata 7 *KeyValue",
        "default_stopping_spec 9 Empty",
    ),
    "MetricSpec": ("metric_id 1 string", "goal 2 int32", "safety_config 3 Empty"),
    "ParameterSpec": (
        "parameter_id 1 string",
        "double 2 DoubleSpec kind",
        "integer 3 IntegerSpec kind",
        "categorical 4 CategoricalSpec kind",
        "discrete 5 DiscreteSpec kind",
        "scale_type 6 int32",
        "external_type 7 int32",
        "conditional_parameter_specs 10 *Empty",
    ),
    "DoubleSpec": ("min_value 1 double", "max_value 2 double", "default_value 3 DoubleValue"),
    "IntegerSpec": ("min_value 1 int64", "max_value 2 int64", "default_value 3 Int64Value"),
    "CategoricalSpec": ("values 1 *string", "default_value 2 StringValue"),
    "DiscreteSpec": ("values 1 *double", "default_value 2 DoubleValue"),
    "Trial": (
        "name 1 string",
        "id 2 string",
        "state 3 int32",
        "parameters 4 *Parameter",
        "final_measurement 5 Measurement",
        "measurements 6 *Measurement",
        "start_time 7 Timestamp",
        "end_time 8 Timestamp",
        "client_id 9 string",
        "infeasible_reason 10 string",
        "metadata 11 *KeyValue",
    ),
    "Parameter": ("parameter_id 1 string", "value 2 Value"),
    "Measurement": ("elapsed_duration 1 Duration", "step_count 2 int64", "metrics 3 *Metric"),
    "Metric": ("metric_id 1 string", "value 2 double"),
    "Named": ("name 1 string",),
    "Owned": ("parent 1 string",),
    "OfTrial": ("trial_name 1 string",),
    "CreateStudyRequest": ("parent 1 string", "study 2 Study"),
    "ListStudiesResponse": ("studies 1 *Study",),
    "SetStudyStateRequest": ("parent 1 string", "state 2 int32"),
    "SuggestTrialsRequest": ("parent 1 string", "suggestion_count 2 int32", "client_id 3 string"),
    "SuggestTrialsResponse": (
        "trials 1 *Trial",
        "study_state 2 int32",
        "start_time 3 Timestamp",
        "end_time 4 Timestamp",
    ),
    "CreateTrialRequest": ("parent 1 string", "trial 2 Trial"),
    "TrialList": ("trials 1 *Trial",),
    "AddTrialMeasurementRequest": ("trial_name 1 string", "measurement 3 Measurement"),
    "CompleteTrialRequest": (
        "name 1 string",
        "final_measurement 2 Measurement",
        "trial_infeasible 3 bool",
        "infeasible_reason 4 string",
    ),
    "StoppingResponse": ("should_stop 1 bool",),
    "UpdateMetadataRequest": ("delta 2 *MetadataUpdate", "name 4 string"),
    "MetadataUpdate": ("metadatum 2 KeyValue", "trial_id 3 string of_trial"),
    "UpdateMetadataResponse": ("error_details 2 string",),
    "Operation": ("name 1 string", "done 3 bool", "error 4 Status result", "response 5 Any result"),
    "Status": ("code 1 int32", "message 2 string"),
}

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
}


def _build_pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(name="photinus/vizier.proto", package=PACKAGE, syntax="proto3")
    for module in KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        file.dependency.append(module.DESCRIPTOR.name)
    for name, fields in FIELDS.items():
        _describe(file.message_type.add(name=name), fields)
    pool.Add(file)  # pyright: ignore[reportAttributeAccessIssue]
    return pool


def _describe(message: Any, fields: tuple[str, ...]) -> None:
    groups: list[str] = []
    for text in fields:
        name, number, kind, *group = text.split()
        field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
        if kind.startswith("*"):
            field.label, kind = _Field.LABEL_REPEATED, kind[1:]
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type = _Field.TYPE_MESSAGE
            field.type_name = f".{PACKAGE}.{kind}" if kind in FIELDS else f".google.protobuf.{kind}"
        if group:
            if group[0] not in groups:
                groups.append(group[0])
                message.oneof_decl.add(name=group[0])
            field.oneof_index = groups.index(group[0])


_POOL = _build_pool()


def _class(name: str) -> Any:
    """The class of a message, which is made at run time: no checker knows its fields."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))


KeyValue = _class(f"{PACKAGE}.KeyValue")
Study = _class(f"{PACKAGE}.Study")
StudySpec = _class(f"{PACKAGE}.StudySpec")
ParameterSpec = _class(f"{PACKAGE}.ParameterSpec")
Trial = _class(f"{PACKAGE}.Trial")
Measurement = _class(f"{PACKAGE}.Measurement")
Named = _class(f"{PACKAGE}.Named")
Owned = _class(f"{PACKAGE}.Owned")
OfTrial = _class(f"{PACKAGE}.OfTrial")
CreateStudyRequest = _class(f"{PACKAGE}.CreateStudyRequest")
ListStudiesResponse = _class(f"{PACKAGE}.ListStudiesResponse")
SetStudyStateRequest = _class(f"{PACKAGE}.SetStudyStateRequest")
SuggestTrialsRequest = _class(f"{PACKAGE}.SuggestTrialsRequest")
SuggestTrialsResponse = _class(f"{PACKAGE}.SuggestTrialsResponse")
CreateTrialRequest = _class(f"{PACKAGE}.CreateTrialRequest")
TrialList = _class(f"{PACKAGE}.TrialList")
AddTrialMeasurementRequest = _class(f"{PACKAGE}.AddTrialMeasurementRequest")
CompleteTrialRequest = _class(f"{PACKAGE}.CompleteTrialRequest")
StoppingResponse = _class(f"{PACKAGE}.StoppingResponse")
UpdateMetadataRequest = _class(f"{PACKAGE}.UpdateMetadataRequest")
UpdateMetadataResponse = _class(f"{PACKAGE}.UpdateMetadataResponse")
Operation = _class(f"{PACKAGE}.Operation")
Empty = _class("google.protobuf.Empty")
