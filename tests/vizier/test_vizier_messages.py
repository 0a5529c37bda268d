"""Our messages are those of the wire: every field has the number and type that google-vizier's own code has."""

import asyncio
import sys

import grpc
import pytest
from google.longrunning import operations_pb2
from google.protobuf.descriptor import FieldDescriptor
from vizier._src.service import key_value_pb2, study_pb2, vizier_service_pb2

from photinus.errors import ArgumentError, MissingDependency, PermissionDenied, PhotinusError, StorageError
from photinus.service import Settings
from photinus.service.vizier import listen, messages
from photinus.service.vizier.codes import CODES, explain
from photinus.service.vizier.listening import CALLS, SERVICE, check_address

SERVICE_DESCRIPTOR = vizier_service_pb2.DESCRIPTOR.services_by_name["VizierService"]
MEMBERS = {
    "MetricSpec": study_pb2.StudySpec.MetricSpec,
    "ParameterSpec": study_pb2.StudySpec.ParameterSpec,
    "DoubleSpec": study_pb2.StudySpec.ParameterSpec.DoubleValueSpec,
    "IntegerSpec": study_pb2.StudySpec.ParameterSpec.IntegerValueSpec,
    "CategoricalSpec": study_pb2.StudySpec.ParameterSpec.CategoricalValueSpec,
    "DiscreteSpec": study_pb2.StudySpec.ParameterSpec.DiscreteValueSpec,
    "Parameter": study_pb2.Trial.Parameter,
    "Metric": study_pb2.Measurement.Metric,
    "KeyValue": key_value_pb2.KeyValue,
    "MetadataUpdate": vizier_service_pb2.UnitMetadataUpdate,
    "SuggestTrialsResponse": vizier_service_pb2.SuggestTrialsResponse,
    "Operation": operations_pb2.Operation,
}
ALIASES = {"double": "double_value_spec", "integer": "integer_value_spec"}
ALIASES |= {"categorical": "categorical_value_spec", "discrete": "discrete_value_spec"}


def check_same(ours, theirs):
    """What one side writes the other one reads, field by field."""
    by_number = {field.number: field for field in theirs.fields}
    for field in ours.fields:
        twin = by_number[field.number]
        assert field.is_repeated == twin.is_repeated, field.full_name
        if twin.type == FieldDescriptor.TYPE_ENUM:
            assert field.type == FieldDescriptor.TYPE_INT32, field.full_name
        else:
            assert field.type == twin.type, field.full_name
        is_known = field.message_type is not None and field.message_type.full_name.startswith("google.")
        if is_known and field.message_type.name != "Empty":  # whose content nobody reads
            assert field.message_type.full_name == twin.message_type.full_name


@pytest.mark.parametrize("name", MEMBERS)
def test_parts_of_messages_have_the_fields_of_the_wire(name):
    ours = messages._POOL.FindMessageTypeByName(f"{messages.PACKAGE}.{name}")
    check_same(ours, MEMBERS[name].DESCRIPTOR)
    names = {field.number: field.name for field in MEMBERS[name].DESCRIPTOR.fields}
    assert all(names[field.number] == ALIASES.get(field.name, field.name) for field in ours.fields)


@pytest.mark.parametrize("method", list(SERVICE_DESCRIPTOR.methods), ids=lambda method: method.name)
def test_every_call_is_answered_and_reads_what_is_sent(method):
    assert SERVICE_DESCRIPTOR.full_name == SERVICE
    request, _ = CALLS[method.name]
    check_same(request.DESCRIPTOR, method.input_type)


def test_answers_have_the_fields_of_the_wire():
    pairs = {
        messages.Study: study_pb2.Study,
        messages.StudySpec: study_pb2.StudySpec,
        messages.Trial: study_pb2.Trial,
        messages.Measurement: study_pb2.Measurement,
        messages.TrialList: vizier_service_pb2.ListTrialsResponse,
        messages.ListStudiesResponse: vizier_service_pb2.ListStudiesResponse,
        messages.StoppingResponse: vizier_service_pb2.CheckTrialEarlyStoppingStateResponse,
        messages.UpdateMetadataResponse: vizier_service_pb2.UpdateMetadataResponse,
    }
    for ours, theirs in pairs.items():
        check_same(ours.DESCRIPTOR, theirs.DESCRIPTOR)
    optimal = vizier_service_pb2.ListOptimalTrialsResponse.DESCRIPTOR.fields_by_name["optimal_trials"]
    assert optimal.number == messages.TrialList.DESCRIPTOR.fields_by_name["trials"].number


def leaves(kind):
    return [kind, *(leaf for child in kind.__subclasses__() for leaf in leaves(child))]


def test_every_error_has_a_code():
    public = [kind for kind in leaves(PhotinusError) if kind.__module__ == "photinus.errors"]
    assert {*public} - {PhotinusError} == {*CODES}


def test_long_messages_fit_into_a_header():
    code, message = explain(ArgumentError("x" * 100_000), "4711")
    assert (code, len(message)) == (grpc.StatusCode.INVALID_ARGUMENT, 2003)


def test_without_grpc_the_error_has_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "photinus.service.vizier.listening", None)
    with pytest.raises(MissingDependency, match=r'pip install "photinus\[vizier\]"'):
        asyncio.run(listen(None))  # pyright: ignore[reportArgumentType]


def test_errors_of_the_store_stay_in_the_log():
    code, message = explain(StorageError("postgresql://secret@host is down"), "4711")
    assert code == grpc.StatusCode.UNAVAILABLE
    assert "secret" not in message and "4711" in message


@pytest.mark.parametrize("address", ["127.0.0.1:28080", "[::1]:28080", "localhost:1"])
def test_near_addresses_need_no_permission(address):
    assert check_address(Settings(grpc_address=address)) == address


@pytest.mark.parametrize("address", ["0.0.0.0:28080", "[::]:28080", "192.0.2.1:1"])
def test_other_machines_come_in_only_where_that_is_wanted(address):
    with pytest.raises(PermissionDenied, match="--grpc-insecure"):
        check_address(Settings(grpc_address=address))
    assert check_address(Settings(grpc_address=address, grpc_insecure=True)) == address


@pytest.mark.parametrize("address", ["28080", "example.org:28080", ""])
def test_an_address_has_a_number_and_a_port(address):
    with pytest.raises(ArgumentError, match="must be a numeric address and a port"):
        check_address(Settings(grpc_address=address))
