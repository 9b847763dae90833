"""Dashboards, rules, routes and provisioning, checked without Grafana."""
