# The steps of the studio as commands. Save schema.json, and the table, in the same folder.
{% if plan.figures %}
cat > questions.txt <<'END'
{% for line in plan.figures %}{{ line|safe }}
{% endfor %}
END
{% endif %}
dpopt plan --schema schema.json{{ plan|options|safe }} -o plan.json
dpopt release {{ name|quoted|safe }} --plan plan.json{{ release|options|safe }}{% if budget %} --budget {{ budget|quoted|safe }}{% endif %} -o release
dpopt report release -o report.html
dpopt report release {{ name|quoted|safe }} -o owner.html
