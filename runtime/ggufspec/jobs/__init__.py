"""Work over whole files: conversion, comparison, the built-in sample."""
