"""Rules of what auto_complete_config may say about a tensor."""


def check_properties(kind, model, tensor, allowed, listing):
    """Refuses unknown and missing properties. `listing` names the allowed ones for the text."""
    where = "in auto-complete-config function for model '%s'" % model
    for key in tensor:
        if key not in allowed:
            name = tensor.get("name", "")
            raise ValueError("%s '%s' %s contains property other than %s." % (kind, name, where, listing))
    if "name" not in tensor:
        raise ValueError("%s %s is missing 'name' property." % (kind, where))
    for key in ("data_type", "dims"):
        if key not in tensor:
            raise ValueError("%s '%s' %s is missing '%s' property." % (kind, tensor["name"], where, key))


def merge(kind, model, known, tensor):
    """Fills type and dims of a configured tensor in, or refuses others than it has."""
    name, data_type, dims = tensor["name"], tensor["data_type"], tensor["dims"]
    configured = known.get("data_type", "TYPE_INVALID")
    if configured not in ("TYPE_INVALID", data_type):
        raise ValueError(
            "unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s"
            % (model, configured, kind, name, data_type)
        )
    configured_dims = known.get("dims")
    if configured_dims and configured_dims != dims:
        raise ValueError(
            "model '%s', tensor '%s': the model expects dims %s but the model configuration specifies dims %s"
            % (model, name, dims, configured_dims)
        )
    known["data_type"] = data_type
    known["dims"] = dims
